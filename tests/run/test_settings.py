"""What the environment asks for."""

import dataclasses
from pathlib import Path

import pytest

from trackio_like._settings import VARIABLES, Settings, child_environment, hub_endpoint, hub_token, rank_from_env


def rank(parent="agent 1", **env):
    return rank_from_env(env, parent=lambda: parent)


def test_the_root_is_the_first_of_the_places_that_is_named():
    assert Settings.from_env({"TRACKIO_DIR": "/a", "HF_HOME": "/b"}).root == Path("/a")
    assert Settings.from_env({"HF_HOME": "/b", "XDG_CACHE_HOME": "/c"}).root == Path("/b/trackio_like")
    assert Settings.from_env({"XDG_CACHE_HOME": "/c"}).root == Path("/c/huggingface/trackio_like")
    assert Settings.from_env({}).root == Path("~/.cache/huggingface/trackio_like").expanduser()


def test_an_empty_environment_gives_the_documented_defaults():
    found = dataclasses.asdict(Settings.from_env({"TRACKIO_DIR": "/a"}))
    del found["root"]
    assert found == {
        "run_id": None,
        "daemon": "process",
        "fsync_interval_s": 1.0,
        "seal_interval_s": 1.0,
        "idle_exit_s": 30.0,
        "handles_sigterm": False,
        "is_strict": False,
        "space_id": None,
        "bucket_id": None,
        "dataset_id": None,
        "server_url": None,
        "write_token": None,
        "read_token": None,
        "public_url": None,
        "dataset_squash_after": None,
        "max_upload_mb": 1024.0,
        "space_read_token": None,
    }


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("TRACKIO_DAEMON", "maybe", "TRACKIO_DAEMON='maybe' is unknown; choose one of process, thread, off"),
        ("TRACKIO_SEAL_INTERVAL_S", "fast", "'fast' is not a time"),
        ("TRACKIO_IDLE_EXIT_S", "0", "'0' is not a time"),
        ("TRACKIO_FSYNC_INTERVAL_S", "nan", "'nan' is not a time"),
        ("TRACKIO_MAX_UPLOAD_MB", "-1", "'-1' is not a size; give MiB above 0, such as 1024."),
        ("TRACKIO_DATASET_SQUASH_AFTER", "1", "'1' is not a number of commits"),
        ("TRACKIO_HANDLE_SIGTERM", "perhaps", "'perhaps' is unknown; choose 1 or 0"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_the_choices(name, value, message):
    with pytest.raises(ValueError, match=message):
        Settings.from_env({"TRACKIO_DIR": "/a", name: value})


def test_every_setting_has_a_variable_that_reaches_it():
    values = {
        "TRACKIO_DIR": "/a",
        "TRACKIO_RUN_ID": "x",
        "TRACKIO_DAEMON": "off",
        "TRACKIO_FSYNC_INTERVAL_S": "2",
        "TRACKIO_SEAL_INTERVAL_S": "3",
        "TRACKIO_IDLE_EXIT_S": "4",
        "TRACKIO_HANDLE_SIGTERM": "yes",
        "TRACKIO_STRICT": "on",
        "TRACKIO_SPACE_ID": "me/board",
        "TRACKIO_BUCKET_ID": "me/rows",
        "TRACKIO_DATASET_ID": "me/rows",
        "TRACKIO_SERVER_URL": "http://tracker:7860",
        "TRACKIO_WRITE_TOKEN": "may-write",
        "TRACKIO_READ_TOKEN": "may-read",
        "TRACKIO_PUBLIC_URL": "https://example.org/board",
        "TRACKIO_DATASET_SQUASH_AFTER": "500",
        "TRACKIO_MAX_UPLOAD_MB": "5",
        "TRACKIO_SPACE_READ_TOKEN": "hf_reads",
    }
    assert values.keys() == VARIABLES.keys()
    default, changed = Settings.from_env({"TRACKIO_DIR": "/b"}), Settings.from_env(values)
    for name in VARIABLES.values():
        assert getattr(default, name) != getattr(changed, name), name


def test_settings_never_show_a_token():
    settings = Settings.from_env({"TRACKIO_DIR": "/a", "TRACKIO_WRITE_TOKEN": "s3cret", "TRACKIO_READ_TOKEN": "s3cret"})
    assert "s3cret" not in f"{settings} {settings!r}"


def test_the_hub_is_the_one_that_the_environment_names():
    assert hub_endpoint({}) == "https://huggingface.co"
    assert hub_endpoint({"HF_ENDPOINT": "http://127.0.0.1:8899/"}) == "http://127.0.0.1:8899"
    assert hub_token({}) is None
    assert hub_token({"HF_TOKEN": "a", "HUGGING_FACE_HUB_TOKEN": "b"}) == "a"


def test_a_process_alone_has_no_rank():
    assert rank() == rank(RANK="0", WORLD_SIZE="1") == rank(RANK="x", WORLD_SIZE="4")
    assert (rank().rank, rank().world_size, rank().launch) == (0, 1, None)


@pytest.mark.parametrize(
    ("rank_name", "size_name"),
    [
        ("RANK", "WORLD_SIZE"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
    ],
)
def test_the_rank_is_read_from_every_launcher(rank_name, size_name):
    found = rank(**{rank_name: "3", size_name: "8", "SLURM_JOB_ID": "7"})
    assert (found.rank, found.world_size) == (3, 8)
    assert found.launch is not None


def test_ranks_of_one_launch_agree_and_launches_differ():
    torchrun = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "none"}
    assert rank(RANK="0", **torchrun).launch == rank(RANK="1", **torchrun).launch
    assert rank(RANK="0", **torchrun).launch != rank("agent 2", RANK="0", **torchrun).launch


def test_ranks_of_several_hosts_are_told_by_what_they_share():
    first = rank("agent 1", RANK="0", WORLD_SIZE="16", LOCAL_WORLD_SIZE="8", SLURM_JOB_ID="1")
    second = rank("agent 2", RANK="8", WORLD_SIZE="16", LOCAL_WORLD_SIZE="8", SLURM_JOB_ID="1")
    assert first.launch == second.launch
    assert rank(RANK="0", WORLD_SIZE="2").launch is None


def test_a_process_of_ours_finds_the_package():
    assert child_environment(Path("/pkg"), {"A": "1"}) == {"A": "1", "PYTHONPATH": "/pkg"}
    assert child_environment(Path("/pkg"), {"PYTHONPATH": "/x"})["PYTHONPATH"].split(":") == ["/pkg", "/x"]
