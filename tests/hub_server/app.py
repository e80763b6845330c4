"""The Hub as one application: all routes, and the control route."""

from __future__ import annotations

from starlette.applications import Starlette

from tests.hub_server.accounts import Accounts
from tests.hub_server.buckets import Buckets
from tests.hub_server.cas import Cas
from tests.hub_server.cdn import Cdn
from tests.hub_server.wire import HubError, answer_error
from tests.hub_server.world import World


class Services:
    """The parts of the Hub, each with its routes."""

    def __init__(self, world: World) -> None:
        self.cas = Cas(world)
        self.cdn = Cdn(world, self.cas)
        self.accounts = Accounts(world)
        self.buckets = Buckets(world, self.cas)

    def app(self) -> Starlette:
        parts = (self.accounts, self.buckets, self.cas)
        routes = [route for part in parts for route in part.routes()]
        return Starlette(routes=routes, exception_handlers={HubError: answer_error})
