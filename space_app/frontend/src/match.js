// The user's filter: a regular expression, or plain text where it is not one.

/**
 * @param {string} text what was typed.
 * @returns {{test: (name: string) => boolean, error: string | null}} `error` says why it is taken as plain text.
 */
export function matcher(text) {
  if (!text) return { test: () => true, error: null };
  const plain = text.toLowerCase();
  const [pattern, error] = compile(text);
  return { test: (name) => Boolean(pattern?.test(name)) || name.toLowerCase().includes(plain), error };
}

/** With whole characters where the pattern allows it; older escapes such as `\ ` are errors only there. */
function compile(text) {
  for (const flags of ["iu", "i"]) {
    try {
      return [new RegExp(text, flags), null];
    } catch (error) {
      if (flags === "i") return [null, String(error.message).replace(/^Invalid regular expression: /, "")];
    }
  }
  return [null, null];
}

/**
 * The x axis that a metric was defined with.
 * @param {string} key
 * @param {{name: string, step_metric: string | null}[]} definitions `name` may end in `*`.
 * @returns {string} "step", or "metric:<key>".
 */
export function defaultAxis(key, definitions) {
  let best = null;
  let length = -1;
  for (const { name, step_metric: axis } of definitions) {
    if (!axis || axis === key) continue;
    if (name === key) return `metric:${axis}`;
    if (name.endsWith("*") && key.startsWith(name.slice(0, -1)) && name.length > length) {
      best = axis;
      length = name.length;
    }
  }
  return best === null ? "step" : `metric:${best}`;
}
