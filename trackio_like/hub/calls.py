"""Calls to the Hub that end in time and fail in our own words.

The client of huggingface_hub waits for ever on a silent server, and sleeps as long as a busy one asks, an hour if need
be (2.4.0). Inside `hub_calls()` each request has a time limit, and 429 and 5xx come back at once as an error that says
how long to wait. Requests of others in the same process, a training script's own downloads, are left as they are.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from huggingface_hub import get_session
from huggingface_hub.errors import BucketBatchError, HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

from trackio_like.errors import (
    RemoteConflictError,
    RemoteError,
    RemoteInvalidError,
    RemoteMissingError,
    RemotePaymentError,
    RemoteRefusedError,
    RemoteUnavailableError,
)

CONNECT_TIMEOUT_S: Final = 10.0
ANSWER_TIMEOUT_S: Final = 60.0
"""A commit of many files is answered only once it is done; the Hub itself gives up after 60 s."""
LONGEST_WAIT_S: Final = 3700.0
"""The longest wait that is believed: the Hub's longest window is an hour."""
_COMMIT_LIMIT_WAIT_S: Final = 900.0
"""Where a refusal names the hourly limit of commits but no time: a few tries an hour find its end."""

_LOCKED: Final = "another conflicting operation is in progress"
"""A 409 that says so does not mean that it exists; the client asks again without a pause, for ever (2.4.0)."""

_XET_REFUSED: Final = re.compile(r"\b(401|403)\b|unauthorized|forbidden", re.IGNORECASE)
_XET_MISSING: Final = re.compile(r"\b404\b|not found", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)
class Traffic:
    """What a block of calls cost, and what the Hub says is left."""

    num_api_calls: int = 0
    """Requests to `/api/`, which the Hub counts in windows of five minutes."""
    num_left: int | None = None
    """API calls left in the Hub's window, where it said so."""
    window_left_s: float | None = None
    """Seconds until that window ends."""


class _Mine(threading.local):
    traffic: Traffic | None = None
    """Set while this thread is inside `hub_calls()`."""


_mine = _Mine()


@contextlib.contextmanager
def hub_calls(what: str) -> Iterator[Traffic]:
    """Gives each call of the block a time limit, and maps what fails onto our errors.

    Args:
        what: what is being done and to what, for messages: `"write to the bucket me/board"`.

    Yields:
        What the block costs, as it runs.

    Raises:
        RemoteUnavailableError: no answer, 429, 5xx, or the account is busy with another change.
        RemoteRefusedError: 401, 403.
        RemoteMissingError: 404.
        RemotePaymentError: 402.
        RemoteConflictError: another 409, 412.
        RemoteInvalidError: another 4xx, or a name that the Hub does not allow.
    """
    _install_hooks()
    outer, _mine.traffic = _mine.traffic, Traffic()
    traffic = _mine.traffic
    try:
        yield traffic
    except RemoteError as error:
        if str(error) and not error.args[0].startswith("Cannot"):
            error.args = (f"Cannot {what}: {error}",)
        raise
    except BucketBatchError:
        raise  # says which files of a batch failed; the bucket's adapter reads it
    except OfflineModeIsEnabled as error:
        raise RemoteUnavailableError(f"Cannot {what}: HF_HUB_OFFLINE is set") from error
    except HfHubHTTPError as error:
        raise _of_answer(what, error) from error
    except (HFValidationError, UnicodeError) as error:
        raise RemoteInvalidError(f"Cannot {what}: {_first_line(error)}") from error
    except (OSError, RuntimeError, _transport_error()) as error:
        raise _of_transport(what, error) from error
    finally:
        _mine.traffic = outer


def _install_hooks() -> None:
    """Adds our hooks to the client that huggingface_hub shares; it makes a new one after a fork or an error."""
    client = get_session()
    hooks = client.event_hooks
    if _prepare not in hooks["request"]:
        hooks["request"].append(_prepare)
        hooks["response"].append(_inspect)
        client.event_hooks = hooks


def _prepare(request: Any) -> None:
    traffic = _mine.traffic
    if traffic is None:
        return
    if urlsplit(str(request.url)).path.startswith("/api/"):
        traffic.num_api_calls += 1
    if not any((request.extensions.get("timeout") or {}).values()):
        request.extensions["timeout"] = {
            "connect": CONNECT_TIMEOUT_S,
            "read": ANSWER_TIMEOUT_S,
            "write": ANSWER_TIMEOUT_S,
            "pool": ANSWER_TIMEOUT_S,
        }


def _inspect(response: Any) -> None:
    traffic = _mine.traffic
    if traffic is None:
        return
    resource, left, window_s = parse_rate_limit(response.headers.get("ratelimit", ""))
    if resource == "api":
        traffic.num_left, traffic.window_left_s = left, window_s
    if response.status_code == 429:
        response.read()
        text = response.text[:500]
        raise RemoteUnavailableError("too many requests (429)", retry_after_s=wait_of(response.headers, text))
    if response.status_code == 409:
        response.read()
        if _LOCKED in response.text:
            raise RemoteUnavailableError("another change of this account is in progress (409)")
    if response.status_code >= 500:
        wait_s = _seconds(response.headers.get("retry-after"))
        raise RemoteUnavailableError(f"the Hub answered {response.status_code}", retry_after_s=wait_s)


def parse_rate_limit(header: str) -> tuple[str, int | None, float | None]:
    """The resource, calls left and seconds left of a `RateLimit` header such as `"api";r=12;t=34`.

    Returns:
        `("", None, None)` where the header says nothing that can be read.
    """
    match = re.match(r'\s*"?(?P<name>[a-z]+)"?\s*(?P<rest>;.*)?$', header)
    if match is None:
        return "", None, None
    values = dict(re.findall(r";\s*([a-z]+)=(\d+)", match["rest"] or ""))
    left, window_s = values.get("r"), values.get("t")
    return match["name"], None if left is None else int(left), None if window_s is None else float(window_s)


def wait_of(headers: Any, text: str) -> float:
    """How long a 429 asks to wait, in seconds above 0.

    Args:
        headers: the answer's; `Retry-After`, else the `t` of `RateLimit`.
        text: the answer's body, which names the hourly limit of commits where no header does.
    """
    _, _, window_s = parse_rate_limit(headers.get("ratelimit", ""))
    wait_s = _seconds(headers.get("retry-after"))
    if wait_s is None and "hour" in text:
        wait_s = _COMMIT_LIMIT_WAIT_S
    if wait_s is None:
        wait_s = window_s
    return min(60.0 if wait_s is None else wait_s + 1.0, LONGEST_WAIT_S)


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.strip().isdigit() else None


def _of_answer(what: str, error: HfHubHTTPError) -> RemoteError:
    status = error.response.status_code
    message = f"Cannot {what}: {' '.join((error.server_message or _first_line(error)).split())} ({status})"
    kind = {
        401: RemoteRefusedError,
        402: RemotePaymentError,
        403: RemoteRefusedError,
        404: RemoteMissingError,
        409: RemoteConflictError,
        412: RemoteConflictError,
    }.get(status)
    if kind is not None:
        return kind(message)
    if status == 408 or status >= 500:
        return RemoteUnavailableError(message)
    return RemoteInvalidError(message)


def _of_transport(what: str, error: BaseException) -> RemoteError:
    text = _first_line(error)
    # hf_xet says everything by ConnectionError and RuntimeError; only their text tells a bad token from a bad line.
    if isinstance(error, ConnectionError | RuntimeError):
        if _XET_REFUSED.search(str(error)):
            return RemoteRefusedError(f"Cannot {what}: {text}")
        if _XET_MISSING.search(str(error)):
            return RemoteMissingError(f"Cannot {what}: {text}")
    return RemoteUnavailableError(f"Cannot {what}: {text or type(error).__name__}")


def _transport_error() -> type[Exception]:
    """The base of the transport errors of whichever client huggingface_hub uses: httpx2, or httpx before 2.0."""
    kind = next(base for base in HfHubHTTPError.__mro__ if base.__module__.startswith("httpx"))
    assert issubclass(kind, Exception)
    return kind


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:300]


__all__ = [
    "ANSWER_TIMEOUT_S",
    "CONNECT_TIMEOUT_S",
    "Traffic",
    "hub_calls",
    "parse_rate_limit",
    "wait_of",
]
