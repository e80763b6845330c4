"""Spaces, as the real client uses them."""

from __future__ import annotations

import pytest
from huggingface_hub import HfApi, SpaceHardware, Volume
from huggingface_hub.errors import BadRequestError, HfHubHTTPError

from tests.hub_server.hub import Hub


@pytest.fixture
def api(hub: Hub) -> HfApi:
    """The client of `me`, whose Space `me/s` has a variable, a secret, a volume, and no files of its own."""
    client = hub.api("me")
    client.create_repo(
        "me/s",
        repo_type="space",
        space_sdk="gradio",
        space_variables=[{"key": "PROJECT", "value": "p"}],
        space_secrets=[{"key": "HF_TOKEN", "value": "hidden"}],
        space_volumes=[Volume(type="bucket", source="me/b", mount_path="/data")],
    )
    return client


def upload_app(api: HfApi) -> None:
    api.upload_file(path_or_fileobj=b"print()", path_in_repo="app.py", repo_id="me/s", repo_type="space")


def test_a_space_is_created_with_all_its_settings(api: HfApi, hub: Hub):
    space = hub.space("me/s")
    assert (space.sdk, space.variables, space.secrets) == ("gradio", {"PROJECT": "p"}, {"HF_TOKEN": "hidden"})
    assert [(volume["source"], volume["mountPath"]) for volume in space.volumes] == [("me/b", "/data")]
    assert (space.stage, space.num_commits, space.num_restarts) == ("NO_APP_FILE", 1, 0)


def test_files_build_the_space_and_it_runs(api: HfApi):
    assert api.get_space_runtime("me/s").stage == "NO_APP_FILE"
    upload_app(api)
    stages = [api.get_space_runtime("me/s").stage for _ in range(4)]
    assert stages == ["BUILDING", "APP_STARTING", "RUNNING", "RUNNING"]


def test_variables_are_read_and_each_change_restarts(api: HfApi, hub: Hub):
    upload_app(api)
    assert api.add_space_variable("me/s", "A", "1")["A"].value == "1"
    api.delete_space_variable("me/s", "PROJECT")
    assert {key: variable.value for key, variable in api.get_space_variables("me/s").items()} == {"A": "1"}
    assert hub.space("me/s").num_restarts == 2


def test_a_secret_is_never_read_back(api: HfApi, hub: Hub):
    api.add_space_secret("me/s", "KEY", "value", description="what for")
    told = api.get_space_secrets("me/s")
    assert {key: secret.description for key, secret in told.items()} == {"HF_TOKEN": None, "KEY": "what for"}
    assert "value" not in vars(told["KEY"])
    assert hub.space("me/s").secrets == {"HF_TOKEN": "hidden", "KEY": "value"}
    api.delete_space_secret("me/s", "KEY")
    assert hub.space("me/s").secrets == {"HF_TOKEN": "hidden"}


def test_others_see_variables_and_change_nothing(api: HfApi, hub: Hub):
    stranger = hub.api("other")
    assert list(stranger.get_space_variables("me/s")) == ["PROJECT"]
    for attempt in (
        lambda: stranger.get_space_secrets("me/s"),
        lambda: stranger.add_space_variable("me/s", "A", "1"),
        lambda: stranger.restart_space("me/s"),
    ):
        with pytest.raises(HfHubHTTPError, match="403"):
            attempt()


def test_volumes_are_replaced_as_a_whole(api: HfApi, hub: Hub):
    api.set_space_volumes("me/s", [Volume(type="dataset", source="me/ds", mount_path="/ds")])
    volumes = api.get_space_runtime("me/s").volumes
    assert volumes is not None
    assert [(volume.source, volume.read_only) for volume in volumes] == [("me/ds", True)]
    api.delete_space_volumes("me/s")
    assert hub.space("me/s").volumes == []
    with pytest.raises(BadRequestError):
        api.delete_space_volumes("me/s")


def test_hardware_sleep_pause_and_restart(api: HfApi, hub: Hub):
    upload_app(api)
    assert api.request_space_hardware("me/s", SpaceHardware.CPU_UPGRADE).requested_hardware == "cpu-upgrade"
    assert api.set_space_sleep_time("me/s", 600).sleep_time == 600
    assert api.pause_space("me/s").stage == "PAUSED"
    assert api.restart_space("me/s", factory_reboot=True).stage == "APP_STARTING"
    hub.set_space_stages("me/s", "RUNTIME_ERROR")
    assert api.space_info("me/s").runtime.stage == "RUNTIME_ERROR"  # type: ignore[union-attr]


def test_a_gradio_space_needs_a_plan_and_a_static_one_does_not(hub: Hub):
    free = hub.api("free")
    for sdk in ("gradio", "docker"):
        with pytest.raises(HfHubHTTPError, match="402"):
            free.create_repo("free/s", repo_type="space", space_sdk=sdk)
    free.create_repo("free/static", repo_type="space", space_sdk="static")
    assert hub.repo_ids("space") == ["free/static"]
    assert hub.space("free/static").stage == "RUNNING"
    with pytest.raises(BadRequestError, match="Static Spaces have no volumes"):
        free.set_space_volumes("free/static", [Volume(type="bucket", source="free/b", mount_path="/data")])


def test_a_space_of_a_paying_organisation_is_allowed(hub: Hub):
    hub.api("me").create_repo("team/s", repo_type="space", space_sdk="gradio")
    hub.add_org("unpaid", members={"me": "admin"})
    with pytest.raises(HfHubHTTPError, match="402"):
        hub.api("me").create_repo("unpaid/s", repo_type="space", space_sdk="gradio")


def test_a_copy_has_files_and_variables_and_no_secrets(api: HfApi, hub: Hub):
    upload_app(api)
    url = api.duplicate_repo("me/s", "team/copy", repo_type="space")
    assert url == f"{hub.endpoint}/spaces/team/copy"
    copy = hub.space("team/copy")
    assert (copy.variables, copy.secrets) == ({"PROJECT": "p"}, {})
    assert hub.repo_files("space", "team/copy")["app.py"] == b"print()"
