// Dialogs that stay until the server has answered, and lines at the foot of the page.

import { button, h } from "./dom.js";

const TOAST_MS = 10_000;

/**
 * A dialog over the page. Escape, and a click beside it, close it; the focus goes back to where it was.
 * @param {string} title
 * @param {Node[]} body
 * @param {string} tag "form" where pressing Enter is to do something.
 */
export function openDialog(title, body, tag = "div") {
  const content = h(tag, {}, h("h2", {}, title), ...body);
  const element = h("dialog.tl-dialog", { "aria-label": title }, content);
  element.addEventListener("close", () => element.remove());
  element.addEventListener("mousedown", (event) => event.target === element && element.close());
  document.body.append(element);
  element.showModal();
  return { element, content, close: () => element.close() };
}

/**
 * A question, and what is done with its answer. The dialog stays open while that is under way, and where it fails: then it
 * says why, and what was typed is still there.
 * @param {object} parts
 * @param {(text: string) => Promise<void>} parts.act gets what was typed, "" where nothing is to be typed.
 * @param {string} parts.label of the field; "" where nothing is to be typed.
 * @param {string[]} parts.choices what the field suggests.
 * @returns {Promise<boolean>} whether it was done.
 */
export function ask({ title, body = [], label = "", value = "", note = "", choices = [], action, isBad = false, isValid = () => true, act }) {
  return new Promise((resolve) => {
    let isDone = false;
    const options = choices.length ? h("datalist", { id: "tl-choices" }, ...choices.map((item) => h("option", { value: item }))) : null;
    const input = label ? h("input.tl-input", { type: "text", value, spellcheck: false, autocomplete: "off", "aria-label": label, list: options?.id, on: { input: () => check() } }) : null;
    const field = label ? h("label.tl-dialog-field", {}, h("span.tl-muted", {}, label), input, options) : null;
    const error = h("p.tl-error", { role: "alert" });
    const go = button(action, { text: action, className: isBad ? "tl-primary.tl-danger" : "tl-primary", type: "submit" });
    const cancel = button("Cancel", { text: "Cancel", onClick: () => close() });
    const check = () => { go.disabled = input !== null && !isValid(input.value); };
    const parts = [...body, field, note ? h("p.tl-muted", {}, note) : null, error, h("div.tl-dialog-actions", {}, h("span.tl-grow"), cancel, go)];
    const { element, content, close } = openDialog(title, parts.filter(Boolean), "form");
    content.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (go.disabled) return;
      go.disabled = true;
      error.textContent = "";
      try {
        await act(input?.value ?? "");
        isDone = true;
        close();
      } catch (failure) {
        error.textContent = failure.message;
        check();
      }
    });
    element.addEventListener("close", () => resolve(isDone));
    check();
    // What cannot be undone by a click is not what Enter does first.
    (input ?? (isBad ? cancel : go)).focus();
    input?.select();
  });
}

let shown = null;

/** Takes the line away: what it offers is not what was done last any more. */
export const hush = () => shown?.remove();

/**
 * A line at the foot of the page. It goes by itself, but not while the pointer or the focus is on it, and not where it tells
 * of something wrong.
 * @param {{text: string, onClick: () => void} | null} action
 */
export function toast(text, action = null, isBad = false) {
  shown?.remove();
  let timer = null;
  const close = () => element.remove();
  const wait = () => { timer = isBad ? null : setTimeout(close, TOAST_MS); };
  const stay = () => clearTimeout(timer);
  const element = h(`div.tl-toast${isBad ? ".tl-bad" : ""}`, { role: isBad ? "alert" : "status", on: { mouseenter: stay, focusin: stay, mouseleave: wait, focusout: wait } }, h("span", {}, text));
  if (action) element.append(button(action.text, { text: action.text, onClick: () => {
    close();
    action.onClick();
  } }));
  element.append(button("Close", { iconName: "close", onClick: close }));
  shown = element;
  document.body.append(element);
  wait();
}
