// Changes that people make: rename, tags, group, delete, restore, purge. Shown only to those who may write.

import { TL } from "./core.js";
import { ask, hush, openDialog, toast } from "./dialog.js";
import { button, h, setText } from "./dom.js";
import { closeMenu, showMenu } from "./enlarge.js";
import { ago, count, middle, plural } from "./format.js";
import { parseTags, retagged, sharedTags } from "./tags.js";

const MOST_NAMES = 8;
const MOST_TITLE = 40;
const MOST_NAME = 500;
const PURGE_WORD = "purge";

/** Whether the reader may change runs; never in a frozen copy. */
export const mayChange = () => Boolean(TL.me?.may_write);

/** What can be done with some runs, below a button. */
export function openRunsMenu(anchor, runs) {
  const item = (label, act, isBad = false) => h(`button.tl-menu-item${isBad ? ".tl-danger" : ""}`, { type: "button", on: { click: () => {
    closeMenu();
    anchor.focus(); // the dialog gives the focus back to it
    void act(runs);
  } } }, label);
  const isOne = runs.length === 1;
  const title = isOne ? middle(runs[0].name, MOST_TITLE) : runs.length ? plural(runs.length, "run") : "Tick runs to change them";
  showMenu(anchor,
    h("div.tl-menu-title.tl-muted", { title: isOne ? runs[0].name : "" }, title),
    isOne && item("Rename", rename),
    ...(runs.length ? [item("Tags", retag), item("Group", regroup), item("Delete", remove, true)] : []),
    h("hr"),
    item("Deleted runs", showDeleted));
}

/** "the run", or "3 runs". */
const these = (runs) => (runs.length === 1 ? "the run" : plural(runs.length, "run"));

/** Sends a change. The view follows with the next poll, which is asked for at once. */
async function change(runs, type, payload = {}) {
  await TL.source.change({ project: TL.store.project, runs, type, payload });
  hush();
  TL.poller.poke();
}

const ids = (runs) => runs.map((run) => run.id);

const rename = (runs) => ask({
  title: "Rename the run", label: "Name", value: runs[0].name, action: "Rename",
  isValid: (text) => text.trim() !== "" && text.length <= MOST_NAME,
  act: (name) => change(ids(runs), "rename", { name }),
});

const retag = (runs) => ask({
  title: `Tags of ${these(runs)}`, label: "Tags, with commas between them", value: sharedTags(runs).join(", "), action: "Set tags",
  note: runs.length > 1 ? "These are the tags that all of them have. Tags that only some have stay." : "",
  act: async (text) => {
    for (const { tags, runs: some } of retagged(runs, parseTags(text))) await change(some, "tags", { tags });
  },
});

function regroup(runs) {
  const groups = new Set(runs.map((run) => run.group ?? ""));
  const choices = [...new Set(TL.store.ordered.map((run) => run.group).filter(Boolean))].sort();
  return ask({
    title: `Group of ${these(runs)}`, label: "Group", value: groups.size === 1 ? [...groups][0] : "", choices, action: "Set group",
    note: groups.size > 1 ? "They are in several groups now. Leave it empty for none." : "Leave it empty for none.",
    act: (text) => change(ids(runs), "group", { group: text.trim() || null }),
  });
}

async function remove(runs) {
  const names = runs.slice(0, MOST_NAMES).map((run) => h("li", {}, run.name));
  const rest = runs.length > MOST_NAMES ? h("li.tl-muted", {}, `and ${count(runs.length - MOST_NAMES)} more`) : null;
  const running = runs.filter((run) => run.state === "running").length;
  const isDone = await ask({
    title: `Delete ${plural(runs.length, "run")}?`, action: "Delete", isBad: true,
    body: [h("ul", {}, ...names, rest ?? "")],
    note: `${running ? `${count(running)} still ${running === 1 ? "runs and goes" : "run and go"} on logging. ` : ""}Deleted runs disappear from every view, and can be restored until they are purged.`,
    act: () => change(ids(runs), "delete"),
  });
  if (isDone) toast(`${plural(runs.length, "run")} deleted`, { text: "Undo", onClick: () => void undo(runs) });
}

async function undo(runs) {
  try {
    await change(ids(runs), "restore");
  } catch (error) {
    toast(`Not restored: ${error.message}`, null, true);
  }
}

// -- deleted runs ------------------------------------------------------------------------------------------------

/** The bin of the open project: each of its runs can be restored, or purged. */
export async function showDeleted() {
  const { project } = TL.store;
  const list = h("div.tl-deleted", { tabIndex: -1 });
  const said = h("p.tl-muted", { role: "status" });
  const wrong = h("p.tl-error", { role: "alert" });
  const say = (text, error = "") => {
    setText(said, text);
    setText(wrong, error);
  };
  const fill = async () => {
    const { runs } = await TL.source.deleted({ project });
    list.replaceChildren(...runs.map((run) => deletedRow(run, restore, purge)));
    if (!runs.length) list.append(h("p.tl-muted", {}, "No run of this project is deleted."));
    for (const each of all) each.hidden = runs.length < 2;
  };
  /** Does something, shows what is left in the bin, and says what happened. */
  const attempt = async (act) => {
    try {
      say(await act());
    } catch (error) {
      say("", error.message);
    }
    try {
      await fill();
    } catch (error) {
      say(said.textContent, error.message);
    }
    if (!element.contains(document.activeElement)) list.focus();
  };
  const restore = (runs) => attempt(async () => {
    await change(runs && ids(runs), "restore");
    return "";
  });
  const purge = async (runs) => {
    let text = "";
    const isDone = await ask({
      title: runs ? "Purge this run?" : "Purge all deleted runs?", action: "Purge", isBad: true,
      body: [runs ? h("ul", {}, h("li", {}, runs[0].name)) : "", h("p", {}, "The files are removed, here and where they were sent. Nothing brings them back.")].filter(Boolean),
      label: `Type "${PURGE_WORD}" to go on`, isValid: (typed) => typed.trim() === PURGE_WORD,
      act: async () => { text = purgedText(await TL.source.purge({ project, runs: runs && ids(runs) })); },
    });
    if (isDone) await attempt(async () => text);
  };
  const all = [
    button("Restore all", { text: "Restore all", hidden: true, onClick: () => void restore(null) }),
    button("Purge all", { text: "Purge all", className: "tl-danger", hidden: true, onClick: () => void purge(null) }),
  ];
  const done = button("Close", { text: "Close", onClick: () => close() });
  const { element, close } = openDialog("Deleted runs", [list, said, wrong, h("div.tl-dialog-actions", {}, ...all, h("span.tl-grow"), done)]);
  element.classList.add("tl-wide");
  done.focus();
  await attempt(async () => "");
}

function deletedRow(run, restore, purge) {
  const about = `deleted ${ago(run.deleted_us / 1e6, TL.store.nowUs / 1e6)} · ${plural(run.num_rows, "row")}`;
  return h("div.tl-deleted-row", { data: { run: run.id } },
    h("span.tl-deleted-name", {}, h("span.tl-cell-text", { title: run.name }, run.name), h("span.tl-muted", {}, run.is_running ? `${about} · still running` : about)),
    button(`Restore ${run.name}`, { text: "Restore", onClick: () => void restore([run]) }),
    button(run.is_running ? "It is still running. It can be purged when it is over." : `Purge ${run.name}`, { text: "Purge", className: "tl-danger", disabled: run.is_running, onClick: () => void purge([run]) }));
}

function purgedText({ purged, kept }) {
  const [why] = Object.values(kept);
  const text = `${plural(purged.length, "run")} purged.`;
  return why ? `${text} ${count(Object.keys(kept).length)} kept: ${why}` : text;
}
