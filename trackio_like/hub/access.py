"""Who we are at which Hub: the endpoint, and a token that is looked up anew each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Self

from huggingface_hub import HfApi, constants, get_token
from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # loaded lazily there

from trackio_like._version import __version__
from trackio_like.errors import RemoteRefusedError
from trackio_like.hub.calls import hub_calls

ANONYMOUS: Final = ""
"""The token of somebody who is not logged in."""


@dataclass(frozen=True, kw_only=True)
class HubAccess:
    """One endpoint and one token; cheap to make."""

    endpoint: str
    """`https://huggingface.co`, or `HF_ENDPOINT`; without a slash at the end."""
    token: str = ANONYMOUS

    def __repr__(self) -> str:
        """Without the token."""
        return f"HubAccess({self.endpoint!r}, {'with' if self.token else 'without'} a token)"

    @classmethod
    def from_login(cls, endpoint: str | None = None, *, token: str | None = None) -> Self:
        """The access of whoever is logged in here.

        Args:
            endpoint: the Hub; `HF_ENDPOINT` or the public one where it is None or empty.
            token: a token to use instead of `HF_TOKEN` or the stored login.
        """
        chosen = token if token is not None else (get_token() or ANONYMOUS)
        return cls(endpoint=(endpoint or constants.ENDPOINT).rstrip("/"), token=chosen)

    @property
    def is_offline(self) -> bool:
        """Whether `HF_HUB_OFFLINE` forbids the network; hf_xet does not look at it itself (1.8)."""
        return bool(constants.is_offline_mode())

    @cached_property
    def api(self) -> HfApi:
        """The client. Call it inside `hub_calls()`."""
        # False, not None: without a token it must not look for one, such as another account's.
        return HfApi(
            endpoint=self.endpoint, token=self.token or False, library_name="trackio_like", library_version=__version__
        )

    @property
    def headers(self) -> dict[str, str]:
        """What a plain request carries. Never follow a redirect to another host with them."""
        return build_hf_headers(token=self.token or False, library_name="trackio_like", library_version=__version__)

    def owner(self) -> str:
        """Who this is: the account's name. Asked once for each token of this process.

        Raises:
            RemoteRefusedError: nobody is logged in, or the token is not good.
            RemoteError: the Hub does not answer.
        """
        if not self.token:
            raise RemoteRefusedError("Cannot tell whose account this is: nobody is logged in")
        with hub_calls("ask whose token this is"):
            found: dict[str, Any] = self.api.whoami(cache=True)
        return str(found["name"])

    def with_token(self, token: str) -> Self:
        """The same endpoint with another token."""
        return replace(self, token=token)


def login_token() -> str | None:
    """The token of whoever is logged in here: `HF_TOKEN`, the stored login, or Colab's vault, which may ask first."""
    return get_token()


def login_tokens(saved: Callable[[], str | None]) -> Iterator[str]:
    """The tokens to try, best first, each once: this process's login, then one that a training process left.

    Args:
        saved: gives the token that was left, or None.
    """
    tried = set()
    for token in (get_token(), saved()):
        if token and token not in tried:
            tried.add(token)
            yield token


__all__ = ["ANONYMOUS", "HubAccess", "login_token", "login_tokens"]
