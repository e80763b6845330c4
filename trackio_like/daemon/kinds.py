"""The kinds of targets: how each is spoken to, with which tokens, and how much at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from trackio_like._settings import Settings
from trackio_like.daemon.plan import Limits
from trackio_like.daemon.sender import Sender
from trackio_like.format.targets import Target, TargetKind
from trackio_like.run.credentials import load_token

if TYPE_CHECKING:
    from trackio_like.hub.access import HubAccess

GRACE_S: Final = 420.0
"""How long a covered shard stays: longer than the five minutes after which every reader has compared everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfTarget:
    """What the executor has to know of a kind."""

    make_sender: Callable[[Target, str], Sender]
    """Speaks to a target with a token. Asks for nothing yet, but whose a target is that names no owner."""
    tokens: Callable[[Target], Iterable[str]]
    """The tokens to try, best first; looked up anew each time."""
    limits: Limits
    is_hub: bool
    """Whether `HF_HUB_OFFLINE` counts, and nothing works without a token."""


# The Hub's client takes half a second to import: a daemon without targets does without.


def _bucket(target: Target, token: str) -> Sender:
    from trackio_like.daemon.bucket import BucketSender
    from trackio_like.hub.access import HubAccess

    access = HubAccess.from_login(target.endpoint, token=token)
    return BucketSender(with_owner(target, access), access)


def _dataset(target: Target, token: str) -> Sender:
    from trackio_like.daemon.dataset import DatasetSender
    from trackio_like.hub.access import HubAccess

    access = HubAccess.from_login(target.endpoint, token=token)
    squash_after = Settings.from_env().dataset_squash_after
    return DatasetSender(with_owner(target, access), access, squash_after=squash_after)


def _server(target: Target, token: str) -> Sender:
    from trackio_like.daemon.server import ServerSender

    return ServerSender(target, token)


def with_owner(target: Target, access: HubAccess) -> Target:
    """The target with the owner that a bare name means: whoever is logged in.

    Raises:
        RemoteError: nobody is, or the Hub does not say who.
    """
    if "/" in target.id and "/" in (target.space_id or "/"):
        return target
    owner = access.owner()

    def full(name: str) -> str:
        return name if "/" in name else f"{owner}/{name}"

    return replace(target, id=full(target.id), space_id=None if target.space_id is None else full(target.space_id))


def hub_tokens(target: Target) -> Iterable[str]:
    """This process's login, then the token that a training process left."""
    from trackio_like.hub.access import login_tokens

    return login_tokens(lambda: load_token(target.key))


def server_tokens(target: Target) -> Iterable[str]:
    """The write token that came with the server's URL, else the environment's; none is a token, too."""
    tokens = (load_token(target.key), Settings.from_env().write_token)
    return list(dict.fromkeys(token for token in tokens if token)) or [""]


KINDS_OF_TARGETS: Final[Mapping[TargetKind, KindOfTarget]] = {
    "bucket": KindOfTarget(
        make_sender=_bucket,
        tokens=hub_tokens,
        limits=Limits(num_files=900, num_bytes=256 << 20, grace_s=GRACE_S),  # the client sends 1000 in one batch
        is_hub=True,
    ),
    "dataset": KindOfTarget(
        make_sender=_dataset,
        tokens=hub_tokens,
        limits=Limits(num_files=600, num_bytes=1 << 30, grace_s=GRACE_S),  # the Hub gives a commit 60 s
        is_hub=True,
    ),
    "server": KindOfTarget(
        make_sender=_server,
        tokens=server_tokens,
        limits=Limits(num_files=200, num_bytes=256 << 20, grace_s=GRACE_S),  # a request each
        is_hub=False,
    ),
}

__all__ = ["GRACE_S", "KINDS_OF_TARGETS", "KindOfTarget", "hub_tokens", "server_tokens", "with_owner"]
