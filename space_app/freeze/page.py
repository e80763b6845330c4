"""The page of a frozen dashboard: the shell that Gradio gives the live one, written out as HTML."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from space_app.tabs import TABS

DIST: Final = Path(__file__).parents[1] / "static" / "dist"
ASSETS: Final = "assets"

# Before anything is drawn: the theme of the link, else the one chosen here before, else the system's. And from a file,
# where browsers let no page read its data, the page says so.
_SCRIPT: Final = """
(() => {
  const asked = new URLSearchParams(location.search);
  let theme = asked.get("theme") ?? asked.get("__theme");
  try { theme ??= JSON.parse(localStorage.getItem("tl:theme")); } catch {}
  if (!["light", "dark"].includes(theme)) theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.body.classList.toggle("dark", theme === "dark");
  document.body.classList.toggle("tl-from-file", location.protocol === "file:");
})();
"""

_FROM_FILE: Final = """
<div class="tl-from-file-note" role="alert"><div>
<h1>This page needs a web server</h1>
<p>Browsers let no page that is opened as a file read the data beside it. Any static server will do:</p>
<pre>cd the/folder/of/this/page
python -m http.server 8000 --bind 127.0.0.1</pre>
<p>Then open <code>http://127.0.0.1:8000/</code></p>
</div></div>
"""

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="same-origin">
<title>trackio_like</title>
<link rel="icon" type="image/svg+xml" href="{assets}/favicon.svg">
<link rel="stylesheet" href="{assets}/{style}">
<link rel="stylesheet" href="{assets}/{frozen_style}">
<script id="tl-config" type="application/json">{config}</script>
<script type="module" src="{assets}/{script}"></script>
</head>
<body class="tl-frozen">
<script>{theme_script}</script>
{from_file}
<div class="gradio-container">
<main class="contain">
<aside id="tl-sidebar" class="sidebar open"><button class="toggle-button" type="button" aria-label="Open or close the \
sidebar" aria-controls="tl-sidebar" aria-expanded="true"><span class="chevron" aria-hidden="true"></span></button>\
<div class="sidebar-content"><div data-tl-panel="sidebar"></div></div></aside>
<div id="tl-tabs">
<div class="tab-wrapper"><div class="tab-container" role="tablist" aria-label="Views">
{tabs}
</div><span class="tl-frozen-note" title="{note_title}">{note}</span></div>
{panels}
</div>
</main>
</div>
<noscript>This page draws its charts with JavaScript.</noscript>
</body>
</html>
"""


def write_page(folder: Path, *, data: str, frozen_us: int, dist: Path = DIST) -> None:
    """Writes `index.html` and what it loads.

    Args:
        folder: the frozen dashboard's.
        data: the folder of the data below it.
        frozen_us: when the data were read, microseconds since the epoch.
        dist: the built JavaScript.

    Raises:
        FileNotFoundError: the package was installed without the built JavaScript.
        OSError: the disk refuses.
    """
    manifest: dict[str, Any] = json.loads((dist / "manifest.json").read_text(encoding="utf-8"))
    assets = folder / ASSETS
    shutil.copytree(dist, assets, ignore=shutil.ignore_patterns("manifest.json"))
    shutil.copyfile(dist.with_name("favicon.svg"), assets / "favicon.svg")
    moment = datetime.fromtimestamp(frozen_us / 1e6, UTC)
    config = json.dumps({"frozen": {"data": f"{data}/", "at_us": frozen_us}}).replace("<", "\\u003c")
    page = _PAGE.format(
        policy=html.escape(content_policy()),
        assets=ASSETS,
        style=manifest["style"],
        frozen_style=manifest["frozen_style"],
        script=manifest["script"],
        config=config,
        theme_script=_SCRIPT,
        from_file=_FROM_FILE,
        tabs="\n".join(
            f'<button type="button" role="tab" id="tl-tab-{tab.id}" data-tab-id="{tab.id}" '
            f'aria-controls="tl-panel-{tab.id}" aria-selected="false">{html.escape(tab.title)}</button>'
            for tab in TABS
        ),
        panels="\n".join(
            f'<div class="tabitem" role="tabpanel" id="tl-panel-{tab.id}" aria-labelledby="tl-tab-{tab.id}" hidden>'
            f'<div data-tl-panel="{tab.id}"></div></div>'
            for tab in TABS
        ),
        note=f"Frozen copy, {moment:%Y-%m-%d}<span> {moment:%H:%M} UTC</span>",
        note_title="These runs as they stood at that moment. Nothing here changes any more.",
    )
    (folder / "index.html").write_text(page, encoding="utf-8")


def content_policy() -> str:
    """The page's own content policy: nothing from elsewhere, and no script but ours."""
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; img-src 'self' data: blob:; "
        "media-src 'self' blob:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; frame-src 'self' blob:; "
        "base-uri 'none'; form-action 'none'"
    )


__all__ = ["ASSETS", "DIST", "content_policy", "write_page"]
