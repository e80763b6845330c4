// Who looks, and whether they may change runs; for those who may not, a quiet word on how to.

import { TL } from "./core.js";
import { toast } from "./dialog.js";
import { button, h } from "./dom.js";
import { closeMenu, showMenu } from "./enlarge.js";

/** Asks who looks, and tells the views; again when the page is looked at again, for a login happens in another tab. */
export function watchRights() {
  if (!TL.source.isLive) return;
  const askAgain = async () => {
    try {
      TL.me = await TL.source.me();
    } catch {
      return; // the poller says that the server is gone
    }
    TL.emit("rights");
  };
  document.addEventListener("visibilitychange", () => !document.hidden && void askAgain());
  void askAgain();
}

/** Who is signed in, or the way to sign in, or that this is read only; null for those who came with the write token. */
export function rightsHint() {
  const { me } = TL;
  if (!me) return null;
  if (me.name) return hint("person", me.name, [`Signed in with Hugging Face as ${me.name}.`, me.why], signOutItem());
  if (me.may_write) return null;
  if (me.sign_in === "hub") {
    const address = `${me.login_url}?target=${encodeURIComponent(location.search.slice(1))}`;
    return h("a.tl-button.tl-hint", { href: address, target: "_blank", rel: "noopener", title: me.why ?? "" }, "Sign in with Hugging Face");
  }
  return me.why ? hint("lock", "Read only", [me.why]) : null;
}

/** A word that says more when it is pressed. */
const hint = (iconName, text, lines, ...items) => button(lines.filter(Boolean).join(" "), {
  iconName, text, className: "tl-hint", "aria-label": text, "aria-haspopup": "true", "aria-expanded": "false",
  onClick: (event) => showMenu(event.currentTarget, h("div.tl-menu-text", { tabIndex: -1 }, ...lines.filter(Boolean).map((line) => h("p", {}, line))), ...items),
});

const signOutItem = () => h("button.tl-menu-item", { type: "button", on: { click: async () => {
  closeMenu();
  try {
    await TL.source.signOut();
    location.reload();
  } catch (error) {
    toast(`You are still signed in: ${error.message}`, null, true);
  }
} } }, "Sign out");
