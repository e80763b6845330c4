"""Spaces: the plan they need, variables, secrets, volumes, hardware, and the stages that they go through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.hub_server.access import Account
from tests.hub_server.state import Org, SpaceSettings
from tests.hub_server.wire import HubError, iso

if TYPE_CHECKING:
    from starlette.requests import Request

    from tests.hub_server.repos import Repos

_SDKS = ("gradio", "docker", "static", "streamlit")
_FREE_HARDWARE = ("cpu-basic", "zero-a10g")


def check_plan(account: Account, org: Org | None, asked: dict) -> None:
    """Nothing, where the account's plan has such a Space.

    Raises:
        HubError: 402.
    """
    pays = org.plan is not None if org is not None else account.plan != "free"
    if not pays and asked.get("sdk") != "static":
        raise HubError(
            402,
            "Payment required: a Gradio or Docker Space needs a PRO or Team subscription; static Spaces are free",
        )


def space_settings(asked: dict, now_ms: int) -> SpaceSettings:
    """A new Space's settings, of the body of `create` or `duplicate`.

    Raises:
        HubError: 400.
    """
    sdk = asked.get("sdk")
    if sdk not in _SDKS:
        raise HubError(400, f"sdk must be one of {', '.join(_SDKS)}")
    if sdk == "static" and asked.get("volumes"):
        raise HubError(400, "Static Spaces have no volumes")
    space = SpaceSettings(
        sdk=sdk,
        hardware=asked.get("hardware") or "cpu-basic",
        sleep_time_s=asked.get("sleepTimeSeconds"),
        stages=["RUNNING" if sdk == "static" else "NO_APP_FILE"],
        volumes=_checked_volumes(asked.get("volumes") or []),
    )
    for kept, entries in ((space.variables, asked.get("variables")), (space.secrets, asked.get("secrets"))):
        for entry in entries or []:
            kept[entry["key"]] = {**entry, "updatedAt": iso(now_ms)}
    return space


def runtime(space: SpaceSettings) -> dict:
    """What `runtime` answers."""
    return {
        "stage": space.stages[0],
        "hardware": {
            "current": None if space.stages[0] in ("NO_APP_FILE", "BUILDING") else space.hardware,
            "requested": space.hardware,
        },
        "storage": None,
        "gcTimeout": space.sleep_time_s if space.sleep_time_s is not None else 172800,
        "replicas": {"current": 1, "requested": 1},
        "devMode": False,
        "volumes": space.volumes,
    }


class Spaces:
    """The routes below `/api/spaces/{id}` that other repositories do not have."""

    def __init__(self, repos: Repos) -> None:
        self._repos = repos

    def routes(self) -> list[Route]:
        one = "/api/spaces/{namespace}/{name}"
        return [
            Route(f"{one}/runtime", self._runtime),
            Route(f"{one}/{{shelf:shelf}}", self._read),
            Route(f"{one}/{{shelf:shelf}}", self._put, methods=["POST"]),
            Route(f"{one}/{{shelf:shelf}}", self._remove, methods=["DELETE"]),
            Route(f"{one}/volumes", self._set_volumes, methods=["PUT"]),
            Route(f"{one}/volumes", self._delete_volumes, methods=["DELETE"]),
            Route(f"{one}/hardware", self._hardware, methods=["POST"]),
            Route(f"{one}/sleeptime", self._sleep_time, methods=["POST"]),
            Route(f"{one}/pause", self._pause, methods=["POST"]),
            Route(f"{one}/restart", self._restart, methods=["POST"]),
        ]

    async def _runtime(self, request: Request) -> Response:
        space = self._space(request, writes=False)
        told = runtime(space)
        if len(space.stages) > 1:
            space.stages.pop(0)
        return JSONResponse(told)

    async def _read(self, request: Request) -> Response:
        """Variables for those who see the Space; secrets, without their values, for those who may change it."""
        shelf = request.path_params["shelf"]
        space = self._space(request, writes=shelf == "secrets")
        return JSONResponse(_shown(space, shelf))

    async def _put(self, request: Request) -> Response:
        space = self._space(request, writes=True)
        shelf = request.path_params["shelf"]
        asked = await request.json()
        kept = space.variables if shelf == "variables" else space.secrets
        kept[asked["key"]] = {**asked, "updatedAt": iso(self._repos.world.state.now_ms())}
        space.restart()
        return JSONResponse(_shown(space, shelf))

    async def _remove(self, request: Request) -> Response:
        space = self._space(request, writes=True)
        shelf = request.path_params["shelf"]
        kept = space.variables if shelf == "variables" else space.secrets
        if kept.pop((await request.json())["key"], None) is not None:
            space.restart()
        return JSONResponse(_shown(space, shelf))

    async def _set_volumes(self, request: Request) -> Response:
        space = self._space(request, writes=True)
        if space.sdk == "static":
            raise HubError(400, "Static Spaces have no volumes")
        space.volumes = _checked_volumes((await request.json())["volumes"])
        space.restart()
        return JSONResponse(runtime(space))

    async def _delete_volumes(self, request: Request) -> Response:
        space = self._space(request, writes=True)
        if not space.volumes:
            raise HubError(400, "This Space has no volumes")
        space.volumes = []
        space.restart()
        return JSONResponse(runtime(space))

    async def _hardware(self, request: Request) -> Response:
        space = self._space(request, writes=True)
        asked = await request.json()
        account = self._repos.world.account(request)
        if asked["flavor"] not in _FREE_HARDWARE and account.plan == "free":
            raise HubError(402, "Payment required: this hardware is not free")
        space.hardware = asked["flavor"]
        space.sleep_time_s = asked.get("sleepTimeSeconds", space.sleep_time_s)
        space.restart()
        return JSONResponse(runtime(space))

    async def _sleep_time(self, request: Request) -> Response:
        space = self._space(request, writes=True)
        space.sleep_time_s = (await request.json())["seconds"]
        return JSONResponse(runtime(space))

    async def _pause(self, request: Request) -> Response:
        space = self._space(request, writes=True)
        if space.sdk == "static":
            raise HubError(400, "Static Spaces cannot be paused")
        space.stages = ["PAUSED"]
        return JSONResponse(runtime(space))

    async def _restart(self, request: Request) -> Response:
        space = self._space(request, writes=True)
        if space.sdk == "static":
            raise HubError(400, "Static Spaces cannot be restarted")
        space.restart()
        return JSONResponse(runtime(space))

    def _space(self, request: Request, *, writes: bool) -> SpaceSettings:
        request.path_params["plural"] = "spaces"
        repo = self._repos.writable(request) if writes else self._repos.readable(request)
        assert repo.space is not None
        return repo.space


def _shown(space: SpaceSettings, shelf: str) -> dict:
    if shelf == "variables":
        return space.variables
    return {
        key: {name: text for name, text in entry.items() if name != "value"} for key, entry in space.secrets.items()
    }


def _checked_volumes(volumes: list[dict]) -> list[dict]:
    checked = []
    for volume in volumes:
        if not str(volume.get("mountPath", "")).startswith("/") or "source" not in volume:
            raise HubError(400, "a volume needs a source and an absolute mountPath")
        is_bucket = volume.get("type") == "bucket"
        checked.append({**volume, "readOnly": bool(volume.get("readOnly")) if is_bucket else True})
    return checked
