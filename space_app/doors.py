"""How people come in: the tokens and logins that the environment names, for a server and for a Space."""

from __future__ import annotations

from dataclasses import dataclass

from space_app.api.access import Access, is_loopback
from space_app.api.people import People
from trackio_like._settings import Settings, SpaceLogin, hub_endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """Who may come in, and how they are known."""

    access: Access
    people: People | None
    """None where the tokens alone decide."""
    max_bytes: int
    """The largest file that clients may send."""


def doors_of(settings: Settings, login: SpaceLogin | None, *, host: str, port: int) -> Doors:
    """The doors of one dashboard.

    Args:
        settings: what the environment asks for.
        login: how people sign in; None off a Space, and on one without logins.
        host: address to listen on.
        port: port to listen on.
    """
    max_bytes = int(settings.max_upload_mb * (1 << 20))
    if login is not None and (settings.bucket_id or settings.dataset_id):
        from space_app.api.login import people_of_space

        # The Hub decides who reaches a Space; nothing is sent to it, and no token of ours is asked for.
        access = Access(port=port)
        people = people_of_space(
            login,
            access,
            bucket_id=settings.bucket_id,
            dataset_id=settings.dataset_id,
            endpoint=hub_endpoint(),
        )
        return Doors(access=access, people=people, max_bytes=max_bytes)
    access = Access(
        write_token=settings.write_token or "",
        read_token=settings.read_token or "",
        is_loopback=is_loopback(host),
        public_url=settings.public_url or "",
        port=port,
    )
    return Doors(access=access, people=None, max_bytes=max_bytes)


__all__ = ["Doors", "doors_of"]
