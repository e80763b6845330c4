// The page's module: starts asking at once, and fills each panel of the shell when Gradio shows it.

import "uplot/dist/uPlot.min.css";
import "./app.css";
import "./landscape/landscape.css";
import "./model/model.css";
import { TL } from "./core.js";
import { MetricsView } from "./metrics.js";
import { watchMirror } from "./mirror.js";
import { watchRights } from "./rights.js";
import { RunView } from "./run.js";
import { RunsView } from "./runs.js";
import { watchSidebar } from "./shell.js";
import { Sidebar } from "./sidebar.js";
import { applyTheme, watchTheme } from "./theme.js";
import { watchHealth, Welcome } from "./welcome.js";

/** One view for each panel of the shell; the name is the panel's id in space_app/tabs. */
const VIEWS = { sidebar: Sidebar, metrics: MetricsView, runs: RunsView, run: RunView, landscape: late(() => import("./landscape/view.js").then((module) => module.LandscapeView)), model: late(() => import("./model/view.js").then((module) => module.ModelView)) };

/** A view whose code is loaded when its tab is first shown. */
function late(load) {
  return class {
    constructor(place) {
      load().then((View) => new View(place), (error) => place.append(`This tab cannot be shown: ${error.message}`));
    }
  };
}

/** Fills a panel; Gradio calls it once for each, when its tab is first shown. */
export function mount(name, element) {
  const place = element.querySelector(`[data-tl-panel="${CSS.escape(name)}"]`);
  if (!place || place.dataset.mounted) return;
  place.dataset.mounted = "1";
  new VIEWS[name](place);
  if (name === "sidebar") watchSidebar();
  syncTab();
}

const tabButton = (id) => document.querySelector(`[role="tab"][data-tab-id="${CSS.escape(id)}"]`);

/** Tabs that a narrow page has no room for are in a menu, where they have no id but their title. */
const IN_MENU = "#tl-tabs .overflow-dropdown button";
const idInMenu = (button) => button.textContent.trim().toLowerCase();

/** Shows the tab of the view, where the reader is on another. */
function syncTab() {
  const wanted = tabButton(TL.state.tab) ?? [...document.querySelectorAll(IN_MENU)].find((button) => idInMenu(button) === TL.state.tab);
  if (wanted && wanted.getAttribute("aria-selected") !== "true") wanted.click();
}

function watchTabs() {
  document.addEventListener("click", (event) => {
    const id = event.target instanceof Element ? event.target.closest('[role="tab"][data-tab-id]')?.dataset.tabId : null;
    const inMenu = id ? null : event.target instanceof Element && event.target.closest(IN_MENU);
    if (id || inMenu) TL.set({ tab: id ?? idInMenu(inMenu) });
  });
  document.addEventListener("keyup", (event) => {
    const current = document.activeElement?.closest?.('[role="tab"][data-tab-id]');
    if (current?.getAttribute("aria-selected") === "true" && event.key.startsWith("Arrow")) TL.set({ tab: current.dataset.tabId });
  });
  TL.on("state", (names) => names.has("tab") && syncTab());
}

function start() {
  document.body.classList.toggle("tl-no-sidebar", TL.state.sidebar === "hidden");
  applyTheme();
  watchTheme();
  watchTabs();
  watchHealth();
  watchMirror();
  watchRights();
  new Welcome();
  if (TL.config.frozen) void import("./frozen/shell.js").then(({ beginShell }) => beginShell(mount, TL.state.tab));
  TL.start();
}

window.TL = TL;
start();
