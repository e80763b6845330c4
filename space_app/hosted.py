"""The dashboard as a Space runs it: over a mirror of its bucket or dataset, behind the Hub's proxy, on port 7860."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trackio_like._settings import Settings, hub_endpoint, hub_token, space_login
from trackio_like.store.source import DataSource, open_source

if TYPE_CHECKING:
    from fastapi import FastAPI

logger = logging.getLogger(__name__)

HOST: Final = "0.0.0.0"  # noqa: S104 - a container's only way in is the Hub's proxy
PORT: Final = 7860
POLL_MS: Final = 2000
MOUNT_PATH: Final = Path("/data/trackio_like")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosting:
    """What a Space's environment says; the one place of this package that reads it."""

    bucket_id: str | None
    dataset_id: str | None
    space_id: str | None
    """None outside a Space."""
    endpoint: str
    token: str | None
    """May only read; None for public rows, or where the mounted volume is read."""
    mount: Path | None
    """Where the bucket or dataset is a folder; None where it is not mounted."""
    host: str = HOST
    port: int = PORT

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ, *, mount: Path = MOUNT_PATH) -> Hosting:
        """What a Space's variables and secrets say.

        Args:
            env: the environment.
            mount: where the volume is, if there is one.

        Raises:
            ValueError: they name no bucket or dataset, or both.
        """
        settings = Settings.from_env(env)
        if (settings.bucket_id is None) == (settings.dataset_id is None):
            raise ValueError("Set one of the Space's variables TRACKIO_BUCKET_ID and TRACKIO_DATASET_ID.")
        return cls(
            bucket_id=settings.bucket_id,
            dataset_id=settings.dataset_id,
            space_id=env.get("SPACE_ID") if env.get("SYSTEM") == "spaces" else None,
            endpoint=hub_endpoint(env),
            token=hub_token(env),
            mount=mount if mount.is_dir() else None,
            host=env.get("GRADIO_SERVER_NAME") or HOST,
            port=int(env.get("GRADIO_SERVER_PORT") or PORT),
        )

    def __repr__(self) -> str:
        """Without the token."""
        return f"Hosting({self.bucket_id or self.dataset_id!r}, {'with' if self.token else 'without'} a token)"


def open_hosted(hosting: Hosting) -> DataSource:
    """The mirror of what the Space shows; reads nothing yet."""
    return open_source(
        bucket_id=hosting.bucket_id, dataset_id=hosting.dataset_id, mount=hosting.mount, token=hosting.token
    )


def build_app(source: DataSource) -> FastAPI:
    """The whole dashboard as one application: our routes, and Gradio's page at `/`.

    It may stand in an iframe of any page, for the Hub shows a Space in one, and sets no cookie for those who only look.

    Args:
        source: what is shown.
    """
    from fastapi import FastAPI
    from starlette.middleware import Middleware
    from starlette.routing import Mount

    from space_app.api import create_api
    from space_app.api.gate import Gate
    from space_app.api.service import Service
    from space_app.app import DIST, Bundle, ForeverFiles, OwnPage, build_blocks, head_of
    from space_app.doors import doors_of

    bundle = Bundle.load()
    doors = doors_of(Settings.from_env(), space_login(), host=HOST, port=PORT)
    service = Service(source.root, poll_ms=POLL_MS, progress=source.progress)
    app = FastAPI(
        routes=[
            Mount("/t", create_api(service, access=doors.access, people=doors.people, is_read_only=True)),
            Mount("/tstatic", ForeverFiles(directory=DIST)),
        ],
        middleware=[Middleware(OwnPage, head=head_of(bundle, source.title)), Middleware(Gate, access=doors.access)],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    # Only here: `space_app.app` sets what Gradio reads when it is imported.
    from gradio import mount_gradio_app

    mount_gradio_app(
        app,
        build_blocks(bundle),
        path="/",
        favicon_path=str(DIST.with_name("favicon.svg")),
        footer_links=[],
        run_history=False,
        enable_monitoring=False,
        ssr_mode=False,
        pwa=False,
    )
    return app


def main() -> None:
    """Serves until the container ends.

    Raises:
        ValueError: the variables name no bucket or dataset.
    """
    import uvicorn

    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it names each request
    hosting = Hosting.from_env()
    source = open_hosted(hosting)
    source.start()
    logger.info("%s shows %s", hosting.space_id or "This server", hosting.bucket_id or hosting.dataset_id)
    try:
        # All that is forwarded is believed: only the Hub's proxy can reach the container.
        uvicorn.run(
            build_app(source),
            host=hosting.host,
            port=hosting.port,
            log_level="warning",
            proxy_headers=True,
            forwarded_allow_ips="*",
        )
    finally:
        source.close()


__all__ = ["Hosting", "build_app", "main", "open_hosted"]
