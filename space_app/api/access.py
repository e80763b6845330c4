"""Who may do what: tokens in headers and cookies, and whether a request comes from this server's own page."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.datastructures import Headers

COOKIE_AGE_S: Final = 30 * 24 * 3600
WRONG_TOKEN: Final = (
    "This needs a token that is valid on this server. Open the address that the server printed when it "  # noqa: S105
    "started, or send the token as 'Authorization: Bearer ...'."
)
"""One text for every wrong token: it does not tell what is wrong with it."""
FOREIGN_PAGE: Final = "Another site may not do this with what signs a person in here."
_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]{1,100}){1,10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """What a request may do."""

    may_read: bool = False
    may_write: bool = False
    is_proven: bool = False
    """Whether a token says so, and not only that the server is open to all."""


class Access:
    """The tokens of one server, and what they allow. Its text never shows them."""

    def __init__(
        self,
        *,
        write_token: str = "",
        read_token: str = "",
        is_loopback: bool = False,
        public_url: str = "",
        port: int = 0,
    ) -> None:
        """Decides nothing yet.

        Args:
            write_token: allows everything; empty for nobody.
            read_token: asked of everybody who only looks; empty lets everybody look.
            is_loopback: whether only this machine is served.
            public_url: where others reach the server, through a proxy; empty where nobody said so.
            port: names the cookie, for a browser sends the cookies of one host to all its ports.
        """
        self._tokens = {"write": write_token, "read": read_token}
        self.is_loopback = is_loopback
        self.public_url = public_url.rstrip("/")
        self.cookie_name = f"trackio_like_{port}"

    @property
    def is_read_open(self) -> bool:
        """Whether everybody may look."""
        return not self._tokens["read"]

    @property
    def has_write_token(self) -> bool:
        """Whether there is a token that allows changes."""
        return bool(self._tokens["write"])

    def of_token(self, token: str) -> Rights:
        """What a token allows."""
        return self._rights("write" if self._is(token, "write") else "read" if self._is(token, "read") else "")

    def of(self, headers: Headers) -> Rights:
        """What a request may look at, and what it may change where its cookie is not borrowed by another site."""
        level = self._level(headers)
        return self._rights(level)

    def may_change(self, headers: Headers) -> bool:
        """Whether a request may change anything: by its token, or by its cookie from our own page."""
        scheme, token = _authorization(headers)
        if scheme == "bearer" and self._is(token, "write"):
            return True
        return self._level(headers) == "write" and self.is_own_page(headers)

    def cookie_of(self, token: str) -> str:
        """What the cookie holds for a valid token: it opens this server's pages, and does not tell the token."""
        return self._seal("write" if self._is(token, "write") else "read")

    def is_own_page(self, headers: Headers) -> bool:
        """Whether a browser says that a page of this server sent the request."""
        site = headers.get("sec-fetch-site")
        if site is not None:
            return site == "same-origin"
        origin = headers.get("origin")
        return origin is not None and urlsplit(origin).netloc.lower() in self._names(headers)

    def is_known_host(self, headers: Headers) -> bool:
        """Whether the name in `Host` is one that only this server answers to."""
        host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        return is_loopback(host) or (bool(self.public_url) and host == urlsplit(self.public_url).hostname)

    def prefix(self, headers: Headers, root_path: str) -> str:
        """The path below which a proxy shows the server: `/board`, or nothing."""
        if self.public_url:
            return urlsplit(self.public_url).path.rstrip("/")
        forwarded = headers.get("x-forwarded-prefix", "").rstrip("/")
        if _PREFIX.fullmatch(forwarded):
            return forwarded
        return urlsplit(root_path).path.rstrip("/")

    def is_secure(self, headers: Headers, scheme: str) -> bool:
        """Whether the browser reaches the server by https."""
        if self.public_url:
            return self.public_url.startswith("https:")
        return (headers.get("x-forwarded-proto") or scheme).partition(",")[0].strip() == "https"

    def _names(self, headers: Headers) -> set[str]:
        forwarded = headers.get("x-forwarded-host", "").partition(",")[0].strip()
        return {name.lower() for name in (headers.get("host", ""), forwarded, urlsplit(self.public_url).netloc) if name}

    def _level(self, headers: Headers) -> str:
        scheme, token = _authorization(headers)
        if scheme == "bearer":
            for level in ("write", "read"):
                if self._is(token, level):
                    return level
        # Another site's page may send the cookie, but must not read what it opens.
        if "origin" in headers and not self.is_own_page(headers):
            return ""
        value = _cookie(headers, self.cookie_name)
        for level in ("write", "read"):
            if value and self._tokens[level] and _is_same(value, self._seal(level)):
                return level
        return ""

    def _rights(self, level: str) -> Rights:
        return Rights(may_read=self.is_read_open or level != "", may_write=level == "write", is_proven=level != "")

    def _is(self, token: str, level: str) -> bool:
        return bool(self._tokens[level]) and _is_same(token, self._tokens[level])

    def _seal(self, level: str) -> str:
        return hmac.new(self._tokens[level].encode(), f"trackio_like {level}".encode(), hashlib.sha256).hexdigest()


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_same(one: str, other: str) -> bool:
    # Of digests: the time that comparing takes tells neither content nor length.
    digests = (hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).digest() for text in (one, other))
    return hmac.compare_digest(*digests)


def _authorization(headers: Headers) -> tuple[str, str]:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    try:
        token = token.encode("latin-1").decode()  # headers are bytes, which were taken for Latin-1
    except UnicodeError:
        pass
    return scheme.lower(), token.strip()


def _cookie(headers: Headers, name: str) -> str:
    for line in headers.getlist("cookie"):
        for part in line.split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
    return ""


def cookie_header(name: str, value: str, *, path: str, is_secure: bool, max_age_s: int, is_framed: bool = False) -> str:
    """A `Set-Cookie` that scripts cannot read.

    Args:
        name: its name.
        value: letters, digits, `-` and `_`; empty takes the cookie away.
        path: the path below which it is sent.
        is_secure: whether the page is reached by https.
        max_age_s: how long it stays, in seconds.
        is_framed: whether the page may stand in another site's frame.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]*", value):
        raise ValueError(f"The cookie {name} can only hold letters, digits, - and _.")
    text = f"{name}={value}; HttpOnly; Path={path}; Max-Age={max_age_s}"
    if is_framed and is_secure:
        return f"{text}; Secure; SameSite=None; Partitioned"
    return f"{text}{'; Secure' if is_secure else ''}; SameSite=Lax"


__all__ = ["COOKIE_AGE_S", "FOREIGN_PAGE", "WRONG_TOKEN", "Access", "Rights", "cookie_header", "is_loopback"]
