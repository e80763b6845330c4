"""The Hub as a test holds it: accounts, faults, the log, and looks at the truth."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.hub_server.app import Services
from tests.hub_server.control import Control
from tests.hub_server.faults import Rule
from tests.hub_server.gate import Gate
from tests.hub_server.limits import Limits
from tests.hub_server.serving import Ports
from tests.hub_server.state import Org, Token, User, new_token_value
from tests.hub_server.truth import Truth
from tests.hub_server.world import Record, World

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_SAVE_DELAY_S = 0.2
_ROLES = ("read", "write", "fineGrained", "oauth")


class Hub(Truth):
    """A running Hub. Every method may be called from any thread, at any time.

    Args:
        data_dir: Where to keep everything; None keeps it in memory.
        port: Where to listen; 0 picks a free port.
        cdn_port: The same for the CDN.
    """

    def __init__(self, data_dir: Path | None = None, *, port: int = 0, cdn_port: int = 0) -> None:
        if data_dir is not None:
            data_dir.mkdir(parents=True, exist_ok=True)
        self._ports = Ports([port, cdn_port])
        self.endpoint, self.cdn_endpoint = (f"http://127.0.0.1:{number}" for number in self._ports.numbers)
        self._world = World(data_dir)
        self._world.at.endpoint, self._world.at.cdn_endpoint = self.endpoint, self.cdn_endpoint
        self._services = Services(self._world)
        tokens = self._world.saved.tokens.values()
        self.tokens = {token.user: token.value for token in tokens if token.role == "write" and token.is_valid()}
        """A write token of each account."""
        self._is_save_due = False
        self._ports.start(
            [
                Gate(self._services.app(Control(self).route()), self._world, is_cdn=False, changed=self._changed),
                Gate(self._services.cdn.app(), self._world, is_cdn=True, changed=self._changed),
            ]
        )

    # -- life --------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stops, with everything saved."""
        self._ports.call(self._save)
        self._ports.close()

    def down(self) -> None:
        """The Hub cannot be reached: connections are cut and new ones refused."""
        self._ports.down()

    def up(self) -> None:
        """The Hub is back, on the same ports and with what it knew."""
        self._ports.up()

    def reset(self) -> None:
        """A new Hub at the same address: no account, bucket or repository, no fault, an empty log, the usual limits."""
        self.up()
        self.tokens = {}
        self._ports.call(self._world.reset)

    def _changed(self) -> None:
        if not self._is_save_due:
            self._is_save_due = True
            self._ports.later(_SAVE_DELAY_S, self._save)

    def _save(self) -> None:
        self._is_save_due = False
        self._world.state.save()

    # -- accounts ----------------------------------------------------------------------------------------------------

    def add_user(self, name: str, *, is_pro: bool = False, orgs: Mapping[str, str] | None = None) -> str:
        """A new account, and a write token of it, which is in `tokens` too.

        Args:
            name: Its name, which is its namespace.
            is_pro: Whether it pays.
            orgs: Existing organisations that it joins, with its role there.
        """

        def add() -> None:
            self._world.saved.users[name] = User(name=name, is_pro=is_pro)
            for org, role in (orgs or {}).items():
                self._world.saved.orgs[org].members[name] = role
            self._changed()

        self._ports.call(add)
        self.tokens[name] = self.token(name)
        return self.tokens[name]

    def add_org(
        self,
        name: str,
        *,
        members: Mapping[str, str] | None = None,
        private_by_default: bool = False,
        plan: str | None = None,
    ) -> None:
        """A new organisation.

        Args:
            name: Its name, which is its namespace.
            members: User to role: admin, write, contributor, read or no_access.
            private_by_default: Whether what is created without a visibility is private.
            plan: None, "team" or "enterprise".
        """

        def add() -> None:
            org = Org(name=name, members=dict(members or {}), private_by_default=private_by_default, plan=plan)
            self._world.saved.orgs[name] = org
            self._changed()

        self._ports.call(add)

    def token(
        self,
        user: str,
        role: str = "write",
        *,
        expires_in_s: float | None = None,
        permissions: Mapping[str, Iterable[str]] | None = None,
        scopes: Iterable[str] = (),
    ) -> str:
        """A new token.

        Args:
            user: Whose it is.
            role: read, write, fineGrained or oauth.
            expires_in_s: How long it is good; None for ever.
            permissions: fineGrained only: namespace or repository id to `repo.content.read` and `repo.write`.
            scopes: oauth only, such as `write-repos`.
        """
        if role not in _ROLES:
            raise ValueError(f"role={role!r} is unknown; choose one of {', '.join(_ROLES)}.")
        expires_at = None if expires_in_s is None else time.time() + expires_in_s
        granted = {name: list(allowed) for name, allowed in (permissions or {}).items()}
        token = Token(
            value=new_token_value("hf_oauth_" if role == "oauth" else "hf_"),
            user=user,
            role=role,
            expires_at=expires_at,
            permissions=granted,
            scopes=list(scopes),
        )

        def add() -> str:
            if user not in self._world.saved.users:
                raise ValueError(f"there is no user {user!r}")
            self._world.saved.tokens[token.value] = token
            self._changed()
            return token.value

        return self._ports.call(add)

    def expire(self, token: str) -> None:
        """The token is good no more. Access to the CAS that was given with it is refused too."""
        self._set_revoked(token, is_revoked=True)

    def revive(self, token: str) -> None:
        """The token is good again."""
        self._set_revoked(token, is_revoked=False)

    def _set_revoked(self, value: str, *, is_revoked: bool) -> None:
        def change() -> None:
            token = self._world.saved.tokens[value]
            token.is_revoked = is_revoked
            if not is_revoked:
                token.expires_at = None
            self._changed()

        self._ports.call(change)

    def users(self) -> list[str]:
        return self._ports.call(lambda: sorted(self._world.saved.users))

    def sign_in(self, user: str | None) -> None:
        """Who the browser is logged in as at the Hub when an application asks for a login; None for nobody."""

        def change() -> None:
            self._world.logins.signed_in = user

        self._ports.call(change)

    def add_oauth_app(self) -> dict[str, str]:
        """A new application that people log in to: the environment that a Space with `hf_oauth: true` has."""
        client_id, client_secret = uuid.uuid4().hex, uuid.uuid4().hex

        def add() -> None:
            self._world.logins.apps[client_id] = client_secret

        self._ports.call(add)
        return {
            "OAUTH_CLIENT_ID": client_id,
            "OAUTH_CLIENT_SECRET": client_secret,
            "OAUTH_SCOPES": "openid profile write-repos",
            "OPENID_PROVIDER_URL": self.endpoint,
        }

    def api(self, user: str | None = None, *, token: str | None = None) -> HfApi:
        """The real client: of an account that `add_user` made, of a token, or of nobody."""
        from huggingface_hub import HfApi

        return HfApi(endpoint=self.endpoint, token=token or (self.tokens[user] if user else False))

    # -- faults, limits, log -----------------------------------------------------------------------------------------

    def fail(
        self,
        path_regex: str,
        *,
        kind: str,
        times: int | None = 1,
        skip: int = 0,
        method: str | None = None,
        **options: Any,
    ) -> Rule:
        """Lets requests go wrong.

        Args:
            path_regex: Searched for in the decoded path, on both ports.
            kind: One of `faults.KINDS`, which says what each does.
            times: How many requests; None for all.
            skip: How many matching requests pass first.
            method: Only this one.
            **options: What the kind needs: status, headers, body, delay_s, paths, error, seconds, operations.

        Returns:
            The rule; `rule.hits` counts.
        """
        rule = Rule(path_regex=path_regex, kind=kind, times=times, skip=skip, method=method, **options)
        self._ports.call(lambda: self._world.faults.rules.append(rule))
        return rule

    def clear_faults(self) -> None:
        """Nothing goes wrong any more; what hangs is cut off."""
        self._ports.call(self._world.faults.clear)

    def tell_feed(self, bucket_id: str, event: str) -> None:
        """Interrupts those who follow a bucket now.

        Args:
            bucket_id: The bucket.
            event: `reset` or `reconnect`, which end the streams, or `silence`, which withholds what comes.
        """

        def tell() -> None:
            for stream in self._services.buckets.feed(self._bucket(bucket_id)).streams:
                if event == "silence":
                    stream.is_silent = True
                else:
                    stream.send(event, {"reason": "injected"} if event == "reset" else {})
                    stream.end()

        self._ports.call(tell)

    def num_followers(self, bucket_id: str) -> int:
        """How many follow a bucket's changes now."""
        return self._ports.call(lambda: len(self._services.buckets.feed(self._bucket(bucket_id)).streams))

    @property
    def limits(self) -> Limits:
        """What may be used up; fields may be set at any time."""
        return self._world.limits

    @property
    def requests(self) -> list[Record]:
        """Every request since the log was cleared, in the order of their starts."""
        return self._ports.call(lambda: list(self._world.log))

    @property
    def leaks(self) -> list[Record]:
        """Requests that brought a token to the CDN."""
        return [record for record in self.requests if record.group == "cdn" and record.had_authorization]

    def clear_requests(self) -> None:
        self._ports.call(self._world.log.clear)


@contextmanager
def running_hub(data_dir: Path | None = None, *, port: int = 0, cdn_port: int = 0) -> Iterator[Hub]:
    """A Hub that is stopped at the end."""
    hub = Hub(data_dir, port=port, cdn_port=cdn_port)
    try:
        yield hub
    finally:
        hub.close()
