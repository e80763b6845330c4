"""A Space is made once, kept up to date, and never taken from anybody."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from huggingface_hub import HfApi, Volume

from tests.hub_server import Hub
from trackio_like.daemon.deploy import MOUNT_PATH, deploy, ensure_space
from trackio_like.daemon.space_files import MARK_FILE, Mark, space_files
from trackio_like.daemon.space_plan import Found, decide
from trackio_like.errors import (
    RemoteConflictError,
    RemoteError,
    RemoteInvalidError,
    RemotePaymentError,
    RemoteRefusedError,
    RemoteUnavailableError,
)
from trackio_like.format.targets import Target
from trackio_like.hub.access import HubAccess
from trackio_like.hub.spaces import SpaceState

SPACE = "me/board"
OURS = Mark(version="0.2.0", digest="new", bucket_id="me/rows")


@pytest.fixture
def access(hub: Hub) -> HubAccess:
    return HubAccess(endpoint=hub.endpoint, token=hub.tokens["me"])


@pytest.fixture
def api(hub: Hub) -> HfApi:
    return hub.api("me")


@pytest.fixture
def target(hub: Hub) -> Target:
    return Target(kind="bucket", id="me/rows", space_id=SPACE, endpoint=hub.endpoint)


def set_mark(api: HfApi, **changes: str) -> None:
    """What the Space would be marked with if another version had made it."""
    mark = {"app": "trackio_like", "version": "0.0.1", "digest": "old", "bucket_id": "me/rows", **changes}
    api.upload_file(path_or_fileobj=json.dumps(mark).encode(), path_in_repo=MARK_FILE, repo_id=SPACE, repo_type="space")


def found(mark: Mark | None, *, paths: tuple[str, ...] = ("app.py",), bucket: str | None = None) -> Found:
    state = SpaceState(is_private=True, sha="0", sdk="gradio", stage="RUNNING", paths=frozenset(paths), volumes=())
    return Found(state=state, mark=mark, variables={} if bucket is None else {"TRACKIO_BUCKET_ID": bucket})


# -- what is decided -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "force", "is_automatic", "action"),
    [
        (None, False, True, "make"),
        (found(replace(OURS, version="0.1.9")), False, True, "update"),
        (found(replace(OURS, version="0.10.0")), False, True, "keep"),
        (found(replace(OURS, version="0.10.0")), True, False, "keep"),
        (found(OURS), False, False, "keep"),
        (found(OURS), True, False, "update"),
        (found(replace(OURS, digest="old")), False, True, "keep"),
        (found(replace(OURS, digest="old")), False, False, "update"),
        (found(replace(OURS, bucket_id="me/others")), True, False, "update"),
        (found(None, paths=(".gitattributes", "README.md"), bucket="me/rows"), False, True, "fill"),
        (found(None, paths=("README.md",)), True, False, "fill"),
    ],
)
def test_a_space_is_replaced_only_by_a_newer_version_or_by_force(there, force, is_automatic, action) -> None:
    assert decide(there, OURS, SPACE, force=force, is_automatic=is_automatic) == action


@pytest.mark.parametrize("force", [False, True])
def test_a_space_with_files_of_somebody_else_is_refused_even_by_force(force: bool) -> None:
    with pytest.raises(RemoteConflictError, match=r"me/board holds files .* left alone"):
        decide(found(None, bucket="me/rows"), OURS, SPACE, force=force, is_automatic=False)


def test_an_empty_space_that_was_made_for_something_else_is_refused() -> None:
    with pytest.raises(RemoteConflictError, match="was not made for the bucket me/rows"):
        decide(found(None, paths=("README.md",), bucket="me/x"), OURS, SPACE, force=False, is_automatic=True)


def test_a_space_that_shows_another_bucket_is_refused_and_both_are_named() -> None:
    with pytest.raises(RemoteConflictError, match="shows the bucket me/x, not the bucket me/rows"):
        decide(found(replace(OURS, bucket_id="me/x")), OURS, SPACE, force=False, is_automatic=True)


# -- what is made ----------------------------------------------------------------------------------------------------


def test_deploying_makes_a_private_bucket_and_a_private_space_that_reads_it(
    hub: Hub, access: HubAccess, api: HfApi, target: Target
) -> None:
    done = deploy(access, target)
    assert (done.url, done.visibility, done.did, done.message) == (
        f"{hub.endpoint}/spaces/{SPACE}",
        "private",
        "made",
        None,
    )
    assert hub.bucket_is_private("me/rows")
    info = api.space_info(SPACE)
    assert info.private
    assert info.sdk == "gradio"
    variables = api.get_space_variables(SPACE)
    assert {key: variable.value for key, variable in variables.items()} == {"TRACKIO_BUCKET_ID": "me/rows"}
    assert api.get_space_secrets(SPACE) == {}
    [volume] = api.get_space_runtime(SPACE).volumes or []
    assert (volume.type, volume.source, volume.mount_path, volume.read_only) == ("bucket", "me/rows", MOUNT_PATH, True)


def test_the_space_holds_exactly_the_files_of_this_version(hub: Hub, access: HubAccess, target: Target) -> None:
    deploy(access, target)
    there = hub.repo_files("space", SPACE)
    del there[".gitattributes"]  # the Hub's own
    assert there == space_files(target)


def test_everything_is_in_one_commit(hub: Hub, access: HubAccess, target: Target) -> None:
    deploy(access, target)
    assert hub.num_commits("space", SPACE) == 2  # the Hub's own first one, and ours


def test_deploying_again_sends_nothing(hub: Hub, access: HubAccess, target: Target) -> None:
    deploy(access, target)
    hub.clear_requests()
    assert deploy(access, target).did == "kept"
    assert {request.method for request in hub.requests} == {"GET"}
    assert hub.num_commits("space", SPACE) == 2


def test_the_daemon_asks_one_thing_where_nothing_is_to_be_done(hub: Hub, access: HubAccess, target: Target) -> None:
    ensure_space(access, target)
    hub.clear_requests()
    assert ensure_space(access, target).did == "kept"
    assert len([request for request in hub.requests if request.group == "api"]) == 1


def test_the_daemon_asks_two_things_where_a_read_token_was_given(hub: Hub, access: HubAccess, target: Target) -> None:
    token = hub.token("me", role="fineGrained", permissions={"me/rows": ["repo.content.read"]})
    ensure_space(access, target, read_token=token)
    hub.clear_requests()
    assert ensure_space(access, target, read_token=token).did == "kept"
    assert len([request for request in hub.requests if request.group == "api"]) == 2


def test_a_dataset_is_named_by_its_own_variable(hub: Hub, access: HubAccess, api: HfApi) -> None:
    deploy(access, Target(kind="dataset", id="me/set", space_id=SPACE, endpoint=hub.endpoint))
    assert {key: found.value for key, found in api.get_space_variables(SPACE).items()} == {
        "TRACKIO_DATASET_ID": "me/set"
    }
    assert json.loads(hub.repo_files("space", SPACE)[MARK_FILE])["dataset_id"] == "me/set"
    assert api.dataset_info("me/set").private


def test_a_public_space_and_its_bucket_are_made_public_where_that_is_asked_for(
    hub: Hub, access: HubAccess, target: Target
) -> None:
    assert deploy(access, replace(target, is_private=False)).visibility == "public"
    assert not hub.bucket_is_private("me/rows")


def test_a_target_without_an_owner_is_refused_before_anything_is_asked(
    hub: Hub, access: HubAccess, target: Target
) -> None:
    with pytest.raises(ValueError, match="namespace/name"):
        deploy(access, replace(target, space_id="board"))
    assert not hub.requests


# -- what is brought up to date --------------------------------------------------------------------------------------


def test_an_older_space_is_updated_and_loses_only_files_of_ours(
    hub: Hub, access: HubAccess, api: HfApi, target: Target
) -> None:
    deploy(access, target)
    set_mark(api)
    for path in ("trackio_like/gone.py", "space_app/gone.js", "notes/mine.txt"):
        api.upload_file(path_or_fileobj=b"x", path_in_repo=path, repo_id=SPACE, repo_type="space")
    assert ensure_space(access, target).did == "updated"
    assert set(hub.repo_files("space", SPACE)) == {
        *space_files(target),
        ".gitattributes",
        "notes/mine.txt",
    }


def test_an_update_changes_no_setting_that_is_right(hub: Hub, access: HubAccess, api: HfApi, target: Target) -> None:
    deploy(access, target)
    set_mark(api)
    hub.clear_requests()
    deploy(access, target)
    changed = [request.path for request in hub.requests if request.method in ("POST", "PUT", "DELETE")]
    of_space = {path.partition("me/board/")[2] for path in changed if "me/board/" in path}
    assert of_space == {"preupload/main", "commit/main"}


def test_a_newer_space_is_left_alone_and_that_is_said(hub: Hub, access: HubAccess, api: HfApi, target: Target) -> None:
    deploy(access, target)
    set_mark(api, version="99.0.0")
    before = hub.num_commits("space", SPACE)
    done = deploy(access, target, force=True)
    assert done.did == "kept"
    assert "99.0.0" in (done.message or "")
    assert hub.num_commits("space", SPACE) == before


def test_volumes_and_variables_of_the_user_stay(access: HubAccess, api: HfApi, target: Target) -> None:
    deploy(access, target)
    api.add_space_variable(SPACE, "THEIRS", "1")
    theirs = Volume(type="dataset", source="me/other", mount_path="/other", read_only=True)
    api.set_space_volumes(SPACE, [theirs])
    deploy(access, target, force=True)
    mounted = {volume.mount_path: volume.source for volume in api.get_space_runtime(SPACE).volumes or []}
    assert mounted == {"/other": "me/other", MOUNT_PATH: "me/rows"}
    assert set(api.get_space_variables(SPACE)) == {"THEIRS", "TRACKIO_BUCKET_ID"}


def test_force_lets_a_space_show_a_dataset_instead_of_a_bucket(
    hub: Hub, access: HubAccess, api: HfApi, target: Target
) -> None:
    deploy(access, target)
    other = Target(kind="dataset", id="me/set", space_id=SPACE, endpoint=hub.endpoint)
    with pytest.raises(RemoteConflictError):
        deploy(access, other)
    assert deploy(access, other, force=True).did == "updated"
    assert set(api.get_space_variables(SPACE)) == {"TRACKIO_DATASET_ID"}
    assert [volume.source for volume in api.get_space_runtime(SPACE).volumes or []] == ["me/set"]


def test_force_starts_a_paused_space(access: HubAccess, api: HfApi, target: Target) -> None:
    deploy(access, target)
    api.pause_space(SPACE)
    deploy(access, target, force=True)
    assert api.get_space_runtime(SPACE).stage != "PAUSED"


# -- interruptions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [r"/api/buckets/me/rows$", r"/api/repos/create$", r"/api/spaces/me/board", "/commit/"])
@pytest.mark.parametrize("kind", ["drop", "lost"])
def test_a_deployment_that_is_cut_short_is_finished_by_the_next_one(
    hub: Hub, access: HubAccess, api: HfApi, target: Target, path: str, kind: str
) -> None:
    rule = hub.fail(path, kind=kind)
    with pytest.raises(RemoteUnavailableError):
        ensure_space(access, target)
    assert rule.hits == 1
    ensure_space(access, target)
    assert set(hub.repo_files("space", SPACE)) == {*space_files(target), ".gitattributes"}
    assert set(api.get_space_variables(SPACE)) == {"TRACKIO_BUCKET_ID"}
    assert ensure_space(access, target).did == "kept"


def test_two_daemons_that_begin_at_once_make_one_space(hub: Hub, access: HubAccess, target: Target) -> None:
    deploy(access, target)
    missing = {"X-Error-Code": "RepoNotFound"}
    slower = hub.fail(r"/api/spaces/me/board$", kind="status", status=404, headers=missing, body={"error": "none"})
    assert ensure_space(access, target).url.endswith(SPACE)
    assert slower.hits == 1
    assert set(hub.repo_files("space", SPACE)) == {*space_files(target), ".gitattributes"}


# -- what is refused -------------------------------------------------------------------------------------------------


def test_an_account_without_a_plan_is_told_its_choices_and_rows_have_their_bucket(hub: Hub) -> None:
    access = HubAccess(endpoint=hub.endpoint, token=hub.token("free"))
    target = Target(kind="bucket", id="free/rows", space_id="free/board", endpoint=hub.endpoint)
    with pytest.raises(RemotePaymentError) as caught:
        ensure_space(access, target)
    for choice in ("402", "Space that you have", "freeze", "show --bucket free/rows", "Rows are sent"):
        assert choice in str(caught.value)
    assert hub.bucket_ids() == ["free/rows"]


def test_a_namespace_of_others_is_refused_before_a_space_is_made(hub: Hub, access: HubAccess, target: Target) -> None:
    with pytest.raises(RemoteRefusedError, match="may not make a Space for other"):
        ensure_space(access, replace(target, space_id="other/board"))


def test_a_space_of_somebody_else_is_not_touched(hub: Hub, access: HubAccess, api: HfApi, target: Target) -> None:
    api.create_repo(SPACE, repo_type="space", space_sdk="gradio")
    api.upload_file(path_or_fileobj=b"print()", path_in_repo="app.py", repo_id=SPACE, repo_type="space")
    hub.clear_requests()
    with pytest.raises(RemoteConflictError):
        deploy(access, target, force=True)
    assert {request.method for request in hub.requests} == {"GET"}
    assert hub.bucket_ids() == []


def test_an_empty_space_of_the_user_is_filled_by_force_only(access: HubAccess, api: HfApi, target: Target) -> None:
    api.create_repo(SPACE, repo_type="space", space_sdk="gradio", private=True)
    with pytest.raises(RemoteConflictError, match="--force"):
        deploy(access, target)
    assert deploy(access, target, force=True).did == "updated"
    assert set(api.get_space_variables(SPACE)) == {"TRACKIO_BUCKET_ID"}


def test_a_public_space_over_a_private_bucket_is_refused_unless_forced(
    access: HubAccess, api: HfApi, target: Target
) -> None:
    api.create_bucket("me/rows", private=True)
    public = replace(target, is_private=False)
    with pytest.raises(RemoteInvalidError, match="everybody could read"):
        deploy(access, public)
    assert not api.repo_exists(SPACE, repo_type="space")
    assert deploy(access, public, force=True).visibility == "public"


def test_a_space_that_was_made_public_by_force_is_kept_up_to_date(
    hub: Hub, access: HubAccess, api: HfApi, target: Target
) -> None:
    api.create_bucket("me/rows", private=True)
    deploy(access, replace(target, is_private=False), force=True)
    set_mark(api)
    assert ensure_space(access, target).did == "updated"
    assert not hub.repo_is_private("space", SPACE)


def test_the_daemon_makes_a_space_private_where_its_bucket_turned_out_to_be(
    access: HubAccess, api: HfApi, target: Target
) -> None:
    api.create_bucket("me/rows", private=True)
    done = ensure_space(access, replace(target, is_private=False))
    assert done.visibility == "private"
    assert "private, because the bucket me/rows is" in (done.message or "")


def test_a_space_that_the_hub_made_private_is_reported_so(hub: Hub, access: HubAccess, target: Target) -> None:
    public = replace(target, is_private=False)
    forced = {"id": SPACE, "private": True, "sha": "main", "sdk": "gradio", "siblings": [{"rfilename": "README.md"}]}
    hub.fail(r"/api/spaces/me/board$", kind="status", status=200, body=forced, skip=1)
    done = deploy(access, public)
    assert done.visibility == "private"
    assert "made it private" in (done.message or "")


def test_a_hub_that_is_down_is_worth_asking_again(hub: Hub, access: HubAccess, target: Target) -> None:
    hub.down()
    try:
        with pytest.raises(RemoteUnavailableError):
            ensure_space(access, target)
    finally:
        hub.up()
    assert ensure_space(access, target).did == "made"


# -- the read token --------------------------------------------------------------------------------------------------


def test_only_the_read_token_that_was_given_becomes_a_secret(
    hub: Hub, access: HubAccess, api: HfApi, target: Target
) -> None:
    deploy(access, target)
    token = hub.token("me", role="fineGrained", permissions={"me/rows": ["repo.content.read"]})
    done = deploy(access, target, read_token=token)
    assert (done.did, done.message) == ("updated", None)
    assert set(api.get_space_secrets(SPACE)) == {"HF_TOKEN"}
    everything = b"".join(hub.repo_files("space", SPACE).values())
    assert token.encode() not in everything
    assert access.token.encode() not in everything


@pytest.mark.parametrize(
    ("role", "permissions"), [("write", None), ("fineGrained", {"me/rows": ["repo.content.read", "repo.write"]})]
)
def test_a_token_that_may_write_is_never_given_to_a_space(hub, access, target, role, permissions) -> None:
    token = hub.token("me", role=role, permissions=permissions)
    with pytest.raises(RemoteInvalidError, match="may change things") as caught:
        deploy(access, target, read_token=token)
    assert token not in str(caught.value)
    assert not any("/secrets" in request.path or "/create" in request.path for request in hub.requests)


def test_the_users_own_login_is_never_given_to_a_space(access: HubAccess, target: Target) -> None:
    with pytest.raises(RemoteInvalidError, match="your own login"):
        deploy(access, target, read_token=access.token)


def test_a_read_token_that_sees_nothing_is_refused(hub: Hub, access: HubAccess, api: HfApi, target: Target) -> None:
    api.create_bucket("me/rows", private=True)
    with pytest.raises(RemoteInvalidError, match="may not read the bucket me/rows"):
        deploy(access, target, read_token=hub.token("other", role="read"))


def test_a_token_that_reads_everything_is_taken_and_warned_of(hub: Hub, access: HubAccess, target: Target) -> None:
    done = deploy(access, target, read_token=hub.token("me", role="read"))
    assert "fine-grained" in (done.message or "")


def test_an_expired_read_token_is_an_error_of_ours_without_the_token(
    hub: Hub, access: HubAccess, target: Target
) -> None:
    token = hub.token("me", role="read")
    hub.expire(token)
    with pytest.raises(RemoteError) as caught:
        deploy(access, target, read_token=token)
    assert token not in str(caught.value)
