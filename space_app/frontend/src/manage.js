// Changes that people make: rename, tags, group, delete, restore, purge. Shown only to those who may write.

import { TL } from "./core.js";
import { button, h } from "./dom.js";
import { closeMenu, showMenu } from "./enlarge.js";
import { ago, count, plural } from "./format.js";

const TOAST_MS = 8000;
const MOST_NAMES = 8;
const PURGE_WORD = "purge";

/** Splits what was typed into tags: by commas, without doubles. */
export const parseTags = (text) => [...new Set(text.split(",").map((tag) => tag.trim()).filter(Boolean))];

// -- who may write -----------------------------------------------------------------------------------------------

/** Asks who looks, and tells the views; again when the page is looked at again, for a login happens in another tab. */
export function watchRights() {
  if (!TL.source.isLive) return;
  const ask = async () => {
    try {
      TL.me = await TL.source.me();
    } catch {
      return; // the poller says that the server is gone
    }
    TL.emit("rights");
  };
  document.addEventListener("visibilitychange", () => !document.hidden && !TL.me?.may_write && void ask());
  void ask();
}

/** A quiet word for those who may only look, with the way to more; null where there is none. */
export function rightsHint() {
  const { me } = TL;
  if (!me || me.may_write) return me?.name ? h("span.tl-muted.tl-person", { title: "Signed in with Hugging Face" }, me.name) : null;
  if (me.sign_in === "hub") {
    const address = `${me.login_url}?target=${encodeURIComponent(location.search.slice(1))}`;
    return h("a.tl-button", { href: address, target: "_blank", rel: "noopener", title: me.why ?? "" }, "Sign in with Hugging Face");
  }
  return me.why ? h("span.tl-muted.tl-person", { title: me.why, tabIndex: 0 }, "Read only") : null;
}

// -- menus -------------------------------------------------------------------------------------------------------

const item = (label, onClick, isBad = false) => h(`button.tl-menu-item${isBad ? ".tl-danger" : ""}`, { type: "button", on: { click: () => {
  closeMenu();
  void onClick();
} } }, label);

/** What can be done with some runs. */
export function openRunsMenu(anchor, runs) {
  const one = runs.length === 1 ? runs[0] : null;
  const what = one ? `"${short(one.name)}"` : plural(runs.length, "run");
  showMenu(anchor,
    runs.length ? h("div.tl-muted", {}, what) : h("div.tl-muted", {}, "No run is ticked"),
    one && item("Rename", () => rename(one)),
    runs.length > 0 && item("Tags", () => retag(runs)),
    runs.length > 0 && item("Group", () => regroup(runs)),
    runs.length > 0 && item("Delete", () => remove(runs), true),
    h("hr"),
    item("Deleted runs", () => showDeleted()),
    TL.me?.name && item(`Sign out ${TL.me.name}`, () => signOut()));
}

const short = (name) => (name.length > 40 ? `${name.slice(0, 39)}…` : name);
const ids = (runs) => runs.map((run) => run.id);

async function rename(run) {
  const name = await ask({ title: "Rename the run", label: "Name", value: run.name, action: "Rename", isValid: (text) => text.trim() !== "" && text.length <= 500 });
  if (name !== null) await change([run], "rename", { name });
}

async function retag(runs) {
  const shared = runs.map((run) => run.tags ?? []).reduce((all, tags) => all.filter((tag) => tags.includes(tag)));
  const text = await ask({ title: `Tags of ${plural(runs.length, "run")}`, label: "Tags, with commas between them; they replace the ones before", value: shared.join(", "), action: "Set tags" });
  if (text !== null) await change(runs, "tags", { tags: parseTags(text) });
}

async function regroup(runs) {
  const groups = new Set(runs.map((run) => run.group ?? ""));
  const text = await ask({ title: `Group of ${plural(runs.length, "run")}`, label: "Group; leave it empty for none", value: groups.size === 1 ? [...groups][0] : "", action: "Set group" });
  if (text !== null) await change(runs, "group", { group: text.trim() || null });
}

async function remove(runs) {
  const names = runs.slice(0, MOST_NAMES).map((run) => h("li", {}, run.name));
  const rest = runs.length > MOST_NAMES ? h("li.tl-muted", {}, `and ${count(runs.length - MOST_NAMES)} more`) : null;
  const isSure = await ask({ title: `Delete ${plural(runs.length, "run")}?`, body: [h("ul", {}, ...names, rest), h("p.tl-muted", {}, "They disappear from every view, and can be restored until they are purged.")], action: "Delete", isBad: true });
  if (isSure === null || !(await change(runs, "delete", {}))) return;
  toast(`${plural(runs.length, "run")} deleted.`, { text: "Undo", onClick: () => void change(runs, "restore", {}) });
}

async function signOut() {
  await TL.source.signOut();
  location.reload();
}

/** Sends a change; whether the server took it. The view follows with the next poll. */
async function change(runs, type, payload) {
  try {
    await TL.source.change({ project: TL.store.project, runs: ids(runs), type, payload });
    TL.poller.poke();
    return true;
  } catch (error) {
    toast(`Nothing was changed: ${error.message}`, null, true);
    return false;
  }
}

// -- deleted runs ------------------------------------------------------------------------------------------------

async function showDeleted() {
  const { project } = TL.store;
  const list = h("div.tl-deleted");
  const fill = async () => {
    const { runs } = await TL.source.deleted({ project });
    list.replaceChildren(...runs.map(row), ...(runs.length ? [] : [h("p.tl-muted", {}, "No run of this project is deleted.")]));
    purgeAll.hidden = runs.length === 0;
  };
  const row = (run) => h("div.tl-deleted-row", { data: { run: run.id } },
    h("span.tl-cell-text", { title: run.id }, run.name), h("span.tl-muted", {}, `${ago(run.deleted_us / 1e6, TL.store.nowUs / 1e6)}, ${plural(run.num_rows, "row")}`), h("span.tl-grow"),
    button("Restore", { text: "Restore", onClick: async () => {
      await change([run], "restore", {});
      await fill();
    } }),
    button("Remove for good", { text: "Purge", className: "tl-danger", onClick: () => void purge([run.id]) }));
  const purge = async (runs) => {
    const what = runs ? "this run" : "all deleted runs";
    const isSure = await ask({ title: `Purge ${what}?`, body: [h("p", {}, "The files are removed, here and where they were sent. Nothing brings them back.")], label: `Type "${PURGE_WORD}" to go on`, value: "", action: "Purge", isBad: true, isValid: (text) => text.trim() === PURGE_WORD });
    if (isSure === null) return;
    try {
      const { purged, kept } = await TL.source.purge({ project, runs });
      const why = Object.values(kept)[0];
      toast(why ? `${plural(purged.length, "run")} purged; ${count(Object.keys(kept).length)} kept: ${why}` : `${plural(purged.length, "run")} purged.`, null, Boolean(why));
    } catch (error) {
      toast(`Not purged: ${error.message}`, null, true);
    }
    await fill();
  };
  const purgeAll = button("Remove all of them for good", { text: "Purge all", className: "tl-danger", onClick: () => void purge(null) });
  try {
    await fill();
  } catch (error) {
    toast(error.message, null, true);
    return;
  }
  openDialog("Deleted runs", [list], (close) => [purgeAll, h("span.tl-grow"), button("Close", { text: "Close", onClick: close })]);
}

// -- dialogs -----------------------------------------------------------------------------------------------------

function openDialog(title, body, actions) {
  const element = h("dialog.tl-dialog", { "aria-label": title });
  const close = () => element.close();
  element.append(h("h2", {}, title), ...body, h("div.tl-dialog-actions", {}, ...actions(close)));
  element.addEventListener("close", () => element.remove());
  element.addEventListener("mousedown", (event) => event.target === element && close());
  document.body.append(element);
  element.showModal();
  return element;
}

/**
 * A question with one answer.
 * @returns {Promise<string | null>} what was typed, "" where nothing is to be typed, null where it was called off.
 */
function ask({ title, body = [], label = "", value = "", action, isBad = false, isValid = () => true }) {
  return new Promise((resolve) => {
    let answer = null;
    const input = label ? h("input.tl-input", { type: "text", value, spellcheck: false, "aria-label": label, on: { input: () => check() } }) : null;
    const go = button(action, { text: action, className: isBad ? "tl-primary.tl-danger" : "tl-primary", type: "submit" });
    const check = () => { go.disabled = input !== null && !isValid(input.value); };
    const form = h("form", { on: { submit: (event) => {
      event.preventDefault();
      if (go.disabled) return;
      answer = input ? input.value : "";
      element.close();
    } } }, ...body, label ? h("label.tl-dialog-field", {}, h("span.tl-muted", {}, label), input) : null,
    h("div.tl-dialog-actions", {}, h("span.tl-grow"), button("Cancel", { text: "Cancel", onClick: () => element.close() }), go));
    const element = openDialog(title, [form], () => []);
    element.addEventListener("close", () => resolve(answer));
    check();
    (input ?? go).focus();
    input?.select();
  });
}

let shown = null;

/** A line at the foot of the page, which goes by itself. */
function toast(text, action, isBad = false) {
  shown?.remove();
  const element = h(`div.tl-toast${isBad ? ".tl-bad" : ""}`, { role: isBad ? "alert" : "status" }, h("span", {}, text));
  const close = () => element.remove();
  if (action) element.append(button(action.text, { text: action.text, onClick: () => {
    close();
    action.onClick();
  } }));
  if (isBad) element.append(button("Close", { iconName: "close", onClick: close }));
  shown = element;
  document.body.append(element);
  if (!isBad) setTimeout(close, TOAST_MS);
}
