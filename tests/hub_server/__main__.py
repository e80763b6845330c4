"""A Hub as a process: `python -m tests.hub_server --port 7870 --data .hub`."""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path

from tests.hub_server.fixtures import client_environment
from tests.hub_server.hub import Hub, running_hub


def main() -> None:
    """Serves until it is interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.hub_server", description=__doc__)
    parser.add_argument("--port", type=int, default=7870, help="the CDN's port is the next one (default: 7870)")
    parser.add_argument("--data", type=Path, default=None, help="the folder to keep everything in; without it, memory")
    options = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    cdn_port = options.port + 1 if options.port else 0
    with running_hub(options.data, port=options.port, cdn_port=cdn_port) as hub:
        if not hub.users():
            _first_accounts(hub)
        home = (options.data or Path.home() / ".cache" / "hub-server").resolve() / "client"
        environment = {**client_environment(hub, home), "HF_TOKEN": hub.tokens["me"]}
        print("The Hub runs. In another shell:\n", flush=True)
        print("\n".join(f"export {name}={value}" for name, value in environment.items()), flush=True)
        print(f"\nHere, `me` is PRO. Control: POST {hub.endpoint}/__ctl. Ctrl+C stops it.", flush=True)
        stop.wait()


def _first_accounts(hub: Hub) -> None:
    hub.add_user("me", is_pro=True)
    hub.add_user("free")
    hub.add_user("other")
    hub.add_org("team", members={"me": "write", "other": "read"}, plan="team")


if __name__ == "__main__":
    main()
