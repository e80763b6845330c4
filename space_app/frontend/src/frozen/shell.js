// What Gradio does for the live page: tabs, of which each panel is filled when it is first shown, and a sidebar that folds.

/**
 * Brings the page's shell to life.
 * @param {(name: string, element: ParentNode) => void} mount fills a panel.
 * @param {string} first the tab that is shown first; the first one where there is no such tab.
 */
export function beginShell(mount, first) {
  const tabs = [...document.querySelectorAll('[role="tab"][data-tab-id]')];
  const show = (tab) => {
    for (const other of tabs) {
      const isShown = other === tab;
      other.setAttribute("aria-selected", String(isShown));
      other.classList.toggle("selected", isShown);
      other.tabIndex = isShown ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !isShown;
    }
    // After the click is over: then the view says which tab it is.
    setTimeout(() => mount(tab.dataset.tabId, document), 0);
  };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(i + step + tabs.length) % tabs.length];
      next.click();
      next.focus();
    });
  });
  foldable(document.getElementById("tl-sidebar"));
  mount("sidebar", document);
  show(tabs.find((tab) => tab.dataset.tabId === first) ?? tabs[0]);
}

function foldable(sidebar) {
  const toggle = sidebar.querySelector(".toggle-button");
  toggle.addEventListener("click", () => toggle.setAttribute("aria-expanded", String(sidebar.classList.toggle("open"))));
}
