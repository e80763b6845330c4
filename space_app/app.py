"""The Gradio shell: the sidebar, the tabs, and beside them our own routes and the JavaScript bundle."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

# Gradio reads it when it is imported; without it, every start asks hosts outside for news.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from space_app.api import create_api
from space_app.api.access import Access, is_loopback
from space_app.api.files import DEFAULT_MAX_BYTES
from space_app.api.gate import Gate
from space_app.api.people import People
from space_app.api.service import Service
from space_app.tabs import TABS
from trackio_like.store.source import DataSource

if TYPE_CHECKING:
    from starlette.responses import Response

DIST: Final = Path(__file__).with_name("static") / "dist"
SIDEBAR_WIDTH_PX: Final = 292

# Gradio's page needs inline scripts, and its components make functions from text; all of it comes from this server.
CONTENT_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; media-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; "
    "worker-src 'self' blob:; frame-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'"
)
# The theme has to stand before Gradio reads it from the address, so this runs while the head is parsed.
_THEME_SCRIPT: Final = """
(() => {
  const address = new URL(location.href);
  let theme = address.searchParams.get("theme");
  try { theme ??= JSON.parse(localStorage.getItem("tl:theme")); } catch {}
  if (!["light", "dark"].includes(theme) || address.searchParams.get("__theme") === theme) return;
  address.searchParams.set("__theme", theme);
  history.replaceState(history.state, "", address);
})();
"""

_SAFE_HEADERS: Final = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The built JavaScript: file names with a hash of their content."""

    script: str
    style: str

    @classmethod
    def load(cls, folder: Path = DIST) -> Bundle:
        """The bundle that is installed.

        Raises:
            FileNotFoundError: the package was installed without it.
        """
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return cls(script=manifest["script"], style=manifest["style"])


class OwnPage:
    """Gives every answer the content policy, and every page our head.

    Gradio puts a head of ours into the page by script, once it has loaded: too late for the theme, and the first chart
    would have to wait for it.
    """

    def __init__(self, app: _App, head: str) -> None:
        self._app = app
        self._head = head.encode()

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        page: list[bytes] = []
        start: MutableMapping[str, Any] = {}

        async def send_own(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                kinds = [value for name, value in message["headers"] if name == b"content-type"]
                message["headers"] = [*message["headers"], *_SAFE_HEADERS]
                if scope["method"] == "GET" and kinds and kinds[0].startswith(b"text/html"):
                    start.update(message)
                    return
            elif start:
                page.append(message.get("body", b""))
                if message.get("more_body"):
                    return
                body = b"".join(page).replace(b"</head>", self._head + b"</head>", 1)
                others = [(name, value) for name, value in start["headers"] if name != b"content-length"]
                await send({**start, "headers": [*others, (b"content-length", str(len(body)).encode())]})
                message = {"type": "http.response.body", "body": body}
            await send(message)

        await self._app(scope, receive, send_own)


class ForeverFiles(StaticFiles):
    """Files whose name changes with their content: browsers need not ask for them twice."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
        return response


def build_blocks(bundle: Bundle | None = None) -> gr.Blocks:
    """The shell: empty panels that the bundle fills.

    Args:
        bundle: the JavaScript to load; the installed one where it is None.
    """
    bundle = bundle or Bundle.load()
    with gr.Blocks(title="trackio_like", analytics_enabled=False, fill_width=True) as blocks:
        with gr.Sidebar(width=SIDEBAR_WIDTH_PX, elem_id="tl-sidebar"):
            _panel("sidebar", bundle)
        with gr.Tabs(elem_id="tl-tabs"):
            for tab in TABS:
                with gr.Tab(tab.title, id=tab.id):
                    _panel(tab.id, bundle)
    return blocks


def _panel(name: str, bundle: Bundle) -> None:
    # A template without values is never drawn again, so what the bundle puts into it stays.
    gr.HTML(
        html_template=f'<div data-tl-panel="{name}"></div>',
        js_on_load=(
            f'import(new URL("tstatic/{bundle.script}", document.baseURI))'
            f'.then((page) => page.mount("{name}", element));'
        ),
        apply_default_css=False,
    )


def head_of(bundle: Bundle, title: str) -> str:
    """The page's head: our style and module, and what the module has to know of this server.

    Args:
        bundle: the JavaScript to load.
        title: the folder that is watched, or `the bucket me/board`; the empty page names it.
    """
    config = json.dumps({"root": title}).replace("<", "\\u003c")
    return (
        f"<script>{_THEME_SCRIPT}</script>"
        f'<link rel="stylesheet" href="tstatic/{bundle.style}">'
        f'<script id="tl-config" type="application/json">{config}</script>'
        f'<script type="module" src="tstatic/{bundle.script}"></script>'
    )


def launch(
    source: DataSource,
    *,
    host: str = "127.0.0.1",
    port: int = 7860,
    block: bool = True,
    access: Access | None = None,
    people: People | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> gr.Blocks:
    """Serves the dashboard of one root, or of what lies on the Hub; keeps it up meanwhile.

    Args:
        source: what is shown; its folder need not exist yet.
        host: address to listen on.
        port: port to listen on, which must be free.
        block: whether to return only when the server ends.
        access: the tokens; None lets everybody look and nobody change anything.
        people: how those are known who change runs; by the tokens where it is None.
        max_bytes: the largest file that clients may send.

    Raises:
        OSError: the port is taken.
    """
    bundle = Bundle.load()
    blocks = build_blocks(bundle)
    access = access or Access(is_loopback=is_loopback(host), port=port)
    service = Service(source.root, progress=source.progress)
    source.start()
    blocks.launch(
        server_name=host,
        server_port=port,
        prevent_thread_lock=not block,
        quiet=True,
        share=False,
        inbrowser=False,
        favicon_path=DIST.with_name("favicon.svg"),
        footer_links=[],
        run_history=False,
        enable_monitoring=False,
        ssr_mode=False,
        app_kwargs={
            "routes": [
                Mount(
                    "/t",
                    create_api(
                        service, access=access, people=people, is_read_only=source.is_read_only, max_bytes=max_bytes
                    ),
                ),
                Mount("/tstatic", ForeverFiles(directory=DIST)),
            ],
            "middleware": [Middleware(OwnPage, head=head_of(bundle, source.title)), Middleware(Gate, access=access)],
            "docs_url": None,
            "redoc_url": None,
            "openapi_url": None,
        },
    )
    return blocks


__all__ = ["Bundle", "build_blocks", "head_of", "launch"]
