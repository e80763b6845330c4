"""Makes the Space that shows a target and keeps it up to date; safe to repeat after any interruption.

The mark is committed with the files and after all else, so a Space that has it is complete, and one look is enough to
know that nothing is to be done. A Space without it is left alone, unless it is empty and was made for this very target:
then an earlier attempt was cut short.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from trackio_like._version import __version__
from trackio_like.daemon.space_files import MARK_FILE, Mark, mark_of, refuse_secrets, space_files
from trackio_like.daemon.space_plan import STORE_VARIABLES, Found, decide
from trackio_like.errors import (
    RemoteConflictError,
    RemoteError,
    RemoteInvalidError,
    RemoteMissingError,
    RemotePaymentError,
    RemoteRefusedError,
    RemoteUnavailableError,
)
from trackio_like.format.targets import Target
from trackio_like.hub import spaces
from trackio_like.hub.access import HubAccess
from trackio_like.hub.buckets import make_bucket
from trackio_like.hub.datasets import make_dataset
from trackio_like.hub.listing import check_id
from trackio_like.hub.spaces import Mount, SpaceState, StoreKind

MOUNT_PATH: Final = "/data/trackio_like"
TOKEN_SECRET: Final = "HF_TOKEN"  # noqa: S105 - a name
_OURS: Final = ("trackio_like/", "space_app/")
"""Folders in which a file that we no longer upload is taken away; all others are the user's."""

Did = Literal["made", "updated", "kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What became of a Space."""

    url: str
    """Its page on the Hub."""
    visibility: Literal["private", "public"]
    """Read back from the Hub."""
    did: Did
    message: str | None = None
    """What the user should know; None for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    access: HubAccess
    target: Target
    kind: StoreKind
    space_id: str
    read_token: str | None
    force: bool
    is_automatic: bool
    tell: Callable[[str], None]

    @property
    def url(self) -> str:
        return f"{self.access.endpoint}/spaces/{self.space_id}"

    @property
    def variables(self) -> dict[str, str]:
        return {STORE_VARIABLES[self.kind]: self.target.id}

    @property
    def mount(self) -> Mount:
        return Mount(kind=self.kind, source=self.target.id, path=MOUNT_PATH)


def deploy(
    access: HubAccess,
    target: Target,
    *,
    read_token: str | None = None,
    force: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Deployment:
    """Makes or updates a Space because somebody asked for it; does nothing twice.

    Args:
        access: the Hub and a token that may write there; never copied to the Space.
        target: the bucket or dataset, the Space, and whether what is made is private.
        read_token: a token that may only read, for the Space to read a private bucket or dataset with.
        force: also fills an empty Space of the user's, lets a Space of ours show another bucket or dataset, shows a
            private one in public, and repairs what looks complete.
        tell: is told each step.

    Raises:
        RemotePaymentError: the plan has no Gradio Spaces; the message lists the choices.
        RemoteConflictError: the name belongs to something else; nothing was changed.
        RemoteInvalidError: what is asked for would show private rows or hand out a token that may write.
        RemoteRefusedError: the token may not do this.
        RemoteError: as `hub_calls`; asking again goes on where it ended.
        ValueError: a file to be published holds what looks like a token.
        RuntimeError: what the Space has to install is not known.
    """
    return _run(_job(access, target, read_token, force=force, is_automatic=False, tell=tell))


def ensure_space(access: HubAccess, target: Target, *, read_token: str | None = None) -> Deployment:
    """Makes or updates the Space of a target that runs are sent to: for the daemon, once per start and target.

    Where nothing is to be done it asks the Hub one thing, two where a read token is given. Unlike `deploy` it leaves a
    Space of this very version alone, and makes a Space private where its bucket turned out to be.

    Args:
        access: the Hub and a token that may write there.
        target: a bucket or dataset with a `space_id`.
        read_token: as for `deploy`; given to the Space where it has none yet.

    Raises:
        RemoteUnavailableError: worth asking again later.
        RemoteError: as `deploy`; asking again needs something else first: tell the user once.
        ValueError: as `deploy`.
        RuntimeError: as `deploy`.
    """
    return _run(_job(access, target, read_token, force=False, is_automatic=True, tell=lambda _: None))


def _job(
    access: HubAccess,
    target: Target,
    read_token: str | None,
    *,
    force: bool,
    is_automatic: bool,
    tell: Callable[[str], None],
) -> _Job:
    if target.space_id is None or target.kind == "server":
        raise ValueError(f"{target} has no Space to be shown by.")
    check_id(target.id, target.kind)
    return _Job(
        access=access,
        target=target,
        kind=target.kind,
        space_id=check_id(target.space_id, "space"),
        read_token=read_token,
        force=force,
        is_automatic=is_automatic,
        tell=tell,
    )


def _run(job: _Job) -> Deployment:
    # Built at once where a person asked, for its digest; else only where the mark's version leaves something to do.
    files = None if job.is_automatic else space_files(job.target)
    ours = mark_of(job.target) if files is None else Mark.from_json(files[MARK_FILE])
    assert ours is not None
    found = _find(job)
    action = decide(found, ours, job.space_id, force=job.force, is_automatic=job.is_automatic)
    if action == "keep" and found is not None:
        return _keep(job, found)
    files = space_files(job.target) if files is None else files
    refuse_secrets(files, known=(job.access.token, job.read_token or ""))
    notes: list[str] = []
    is_private = _visibility(job, found, notes)
    notes += _check_read_token(job)
    did: Did = "updated"
    if found is None:
        did = "made"
        found = _make(job, ours, is_private=is_private, notes=notes)
    else:
        _settle(job, found.state)
    job.tell(f"sending {len(files)} files to the Space {job.space_id}")
    gone = sorted(path for path in found.state.paths if path.startswith(_OURS) and path not in files)
    spaces.commit_files(job.access, job.space_id, files, deletes=gone, message=f"trackio_like {__version__}")
    if job.force and found.state.stage in spaces.STANDING:
        spaces.restart(job.access, job.space_id)
    elif found.state.stage == "PAUSED":
        notes.append("It is paused: restart it on its page.")
    return _deployment(job, found.state, did, notes)


def _find(job: _Job) -> Found | None:
    job.tell(f"looking for the Space {job.space_id}")
    state = spaces.look_at(job.access, job.space_id)
    if state is None:
        return None
    mark = None
    if MARK_FILE in state.paths:
        content = spaces.read_file(job.access, job.space_id, MARK_FILE, state.sha)
        mark = Mark.from_json(content or b"")
    needs_variables = mark is None and state.is_empty
    variables = spaces.read_variables(job.access, job.space_id) if needs_variables else {}
    return Found(state=state, mark=mark, variables=variables)


def _keep(job: _Job, found: Found) -> Deployment:
    """Nothing but, perhaps, a read token: nobody can see which one is there."""
    notes = []
    did: Did = "kept"
    assert found.mark is not None
    if found.mark.release > Mark().release:
        notes.append(
            f"It was made by version {found.mark.version}, newer than this one ({__version__}), and left alone."
        )
    is_given = job.read_token is not None
    if is_given and not (job.is_automatic and spaces.has_secret(job.access, job.space_id, TOKEN_SECRET)):
        notes += _check_read_token(job)
        _set_secret(job)
        did = "updated"
    return _deployment(job, found.state, did, notes)


def _check_read_token(job: _Job) -> list[str]:
    """Lets only a token pass that may read what the Space shows, and nothing but read."""
    token = job.read_token
    if token is None:
        return []
    if token == job.access.token:
        raise RemoteInvalidError(
            "The read token is your own login, which is never copied to a Space. "
            f"Make a fine-grained token that may only read {job.target}."
        )
    job.tell("checking the read token")
    reader = job.access.with_token(token)
    facts = spaces.describe_token(reader)
    if not facts.may_only_read:
        raise RemoteInvalidError(
            f"The read token may change things (its role is {facts.role!r}), so it was not given to {job.space_id}. "
            f"Make a fine-grained token that may only read {job.target}."
        )
    try:
        spaces.is_store_private(reader, job.kind, job.target.id)
    except (RemoteMissingError, RemoteRefusedError):
        raise RemoteInvalidError(f"The read token may not read {job.target}.") from None
    if facts.role == "read":
        return [f"The read token reads all that {facts.user} may read; a fine-grained one is safer."]
    return []


def _visibility(job: _Job, found: Found | None, notes: list[str]) -> bool:
    """Makes the bucket or dataset where there is none; whether the Space is, or is to be made, private."""
    job.tell(f"looking for {job.target}")
    asked = job.target.is_private
    make = make_bucket if job.kind == "bucket" else make_dataset
    store = make(job.access, job.target.id, is_private=asked)
    is_private = asked if found is None else found.state.is_private
    if store.is_private and not asked and store.is_new:
        notes.append(f"The Hub made {job.target} private, as its organisation asks for.")
    # Whoever made a Space of ours public said so then: bringing it up to date shows nothing new.
    is_shown = found is not None and found.mark is not None and found.mark.store == mark_of(job.target).store
    if is_private or not store.is_private or job.force or is_shown:
        return is_private
    if found is None and (job.is_automatic or store.is_new):
        notes.append(f"It is private, because {job.target} is.")
        return True
    raise RemoteInvalidError(
        f"The Space {job.space_id} would be public, but {job.target} is private: everybody could read its rows. "
        "Make the Space private, or the rows public, or deploy with --force to publish them."
    )


def _make(job: _Job, ours: Mark, *, is_private: bool, notes: list[str]) -> Found:
    job.tell(f"making the {'private' if is_private else 'public'} Space {job.space_id}")
    try:
        spaces.make_space(
            job.access,
            job.space_id,
            is_private=is_private,
            variables=job.variables,
            secrets={} if job.read_token is None else {TOKEN_SECRET: job.read_token},
            mounts=[job.mount],
        )
    except RemotePaymentError as error:
        raise RemotePaymentError(_choices(job)) from error
    except RemoteRefusedError as error:
        namespace = job.space_id.partition("/")[0]
        raise RemoteRefusedError(f"This token may not make a Space for {namespace}. {_still_sent(job)}") from error
    except RemoteConflictError as error:
        return _made_meanwhile(job, ours, error)
    found = _find(job)
    if found is None:
        raise RemoteUnavailableError(f"The Space {job.space_id} was made, and the Hub does not show it yet.")
    if found.state.is_private and not is_private:
        notes.append("The Hub made it private, as its organisation asks for.")
    return found


def _made_meanwhile(job: _Job, ours: Mark, error: RemoteError) -> Found:
    """Another daemon may have been faster; where it was, its Space is as good as ours."""
    found = _find(job)
    if found is None:
        raise RemoteConflictError(
            f"The name {job.space_id} is taken by something that this token may not see. {_still_sent(job)}"
        ) from error
    decide(found, ours, job.space_id, force=job.force, is_automatic=job.is_automatic)
    return found


def _settle(job: _Job, state: SpaceState) -> None:
    """Variables, volume and secret of a Space that is there; each is sent only where it differs, for it restarts."""
    job.tell("comparing its variables and volumes")
    others = [name for name in STORE_VARIABLES.values() if name not in job.variables]
    spaces.set_variables(job.access, job.space_id, job.variables, unwanted=others)
    spaces.set_mount(job.access, job.space_id, job.mount, there=state.volumes)
    if job.read_token is not None:
        _set_secret(job)


def _set_secret(job: _Job) -> None:
    assert job.read_token is not None
    job.tell("giving it the read token")
    spaces.set_secret(job.access, job.space_id, TOKEN_SECRET, job.read_token)


def _deployment(job: _Job, state: SpaceState, did: Did, notes: list[str]) -> Deployment:
    return Deployment(
        url=job.url,
        visibility="private" if state.is_private else "public",
        did=did,
        message=" ".join(notes) or None,
    )


def _still_sent(job: _Job) -> str:
    return f"Rows are sent to {job.target} all the same."


def _choices(job: _Job) -> str:
    return (
        f"The plan of this account includes no Gradio Space (402), so {job.space_id} was not made. {_still_sent(job)} "
        "You can: (1) use a Space that you have: name it, or fill an empty one with "
        "`trackio-like deploy SPACE_ID --force`; "
        "(2) publish a static copy, which needs no plan, with `trackio-like freeze`; "
        f"(3) look at them on this machine with `trackio-like show --{job.kind} {job.target.id}`."
    )


__all__ = ["MOUNT_PATH", "TOKEN_SECRET", "Deployment", "deploy", "ensure_space"]
