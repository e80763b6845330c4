"""The Hub's fixtures, for its own tests."""

from tests.hub_server.fixtures import hub, hub_home, hub_server

__all__ = ["hub", "hub_home", "hub_server"]
