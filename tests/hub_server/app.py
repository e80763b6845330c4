"""The Hub as one application: all its parts, and their routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor

from tests.hub_server.accounts import Accounts
from tests.hub_server.buckets import Buckets
from tests.hub_server.cas import Cas
from tests.hub_server.cdn import Cdn
from tests.hub_server.commits import Commits
from tests.hub_server.files import RepoFiles
from tests.hub_server.lfs import Lfs
from tests.hub_server.oauth import OAuth
from tests.hub_server.repos import Repos
from tests.hub_server.spaces import Spaces
from tests.hub_server.wire import HubError, answer_error
from tests.hub_server.world import World

if TYPE_CHECKING:
    from starlette.routing import Route


class _Word(Convertor[str]):
    """A part of a path that is one of some words."""

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


class _Plural(_Word):
    regex = "models|datasets|spaces"


class _Shelf(_Word):
    regex = "variables|secrets"


register_url_convertor("repos", _Plural())
register_url_convertor("shelf", _Shelf())


class Services:
    """The parts of the Hub, each with its routes."""

    def __init__(self, world: World) -> None:
        self.cas = Cas(world)
        self.cdn = Cdn(world, self.cas)
        self.accounts = Accounts(world)
        self.buckets = Buckets(world, self.cas)
        self.repos = Repos(world, self.cas)
        self.spaces = Spaces(self.repos)
        self.files = RepoFiles(self.repos)
        self.commits = Commits(self.repos)
        self.lfs = Lfs(self.repos)
        self.oauth = OAuth(world)

    def app(self, control: Route) -> Starlette:
        """The application.

        Args:
            control: The route that steers it.
        """
        parts = (
            self.accounts,
            self.oauth,
            self.buckets,
            self.cas,
            self.spaces,
            self.commits,
            self.files,
            self.repos,
            self.lfs,
        )
        routes = [control, *(route for part in parts for route in part.routes())]
        return Starlette(routes=routes, exception_handlers={HubError: answer_error})
