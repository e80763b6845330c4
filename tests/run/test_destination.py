"""Where rows go: the rules of `space_id`, `bucket_id`, `dataset_id` and `server_url`."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackio_like._settings import Settings
from trackio_like.format.targets import Target
from trackio_like.run.destination import Wish, choose_destination, split_server_url

HUB = "https://hub.example"


def choose(env=None, **wish):
    settings = Settings.from_env({"TRACKIO_DIR": "/r", **(env or {})})
    return choose_destination(Wish(**wish), settings, endpoint=HUB)


def test_rows_stay_here_where_nothing_is_named():
    assert choose() is None


def test_a_space_gets_a_private_bucket_of_its_name():
    expected = Target(kind="bucket", id="me/board-bucket", space_id="me/board", is_private=True, endpoint=HUB)
    assert choose(space_id="me/board").target == expected
    assert choose({"TRACKIO_SPACE_ID": "me/board"}).target == expected


def test_public_is_an_explicit_act():
    assert choose(space_id="me/board", private=False).target.is_private is False
    assert choose(space_id="me/board", private=True).target.is_private is True


def test_a_bucket_or_dataset_may_be_named_beside_the_space_or_alone():
    beside = choose(space_id="me/board", bucket_id="lab/rows").target
    assert (beside.kind, beside.id, beside.space_id) == ("bucket", "lab/rows", "me/board")
    alone = choose(dataset_id="lab/rows").target
    assert (alone.kind, alone.id, alone.space_id) == ("dataset", "lab/rows", None)
    shown = choose({"TRACKIO_SPACE_ID": "me/board", "TRACKIO_DATASET_ID": "me/rows"}).target
    assert (shown.kind, shown.id, shown.space_id) == ("dataset", "me/rows", "me/board")


def test_the_space_wins_over_the_server():
    assert choose(space_id="me/board", server_url="http://tracker").target.kind == "bucket"
    assert choose({"TRACKIO_SPACE_ID": "me/board", "TRACKIO_SERVER_URL": "http://tracker"}).target.kind == "bucket"
    assert choose({"TRACKIO_SERVER_URL": "http://tracker"}, space_id="me/board").target.kind == "bucket"


def test_a_server_in_the_code_that_a_space_wins_over_is_named_without_its_token():
    found = choose({"TRACKIO_SPACE_ID": "me/board"}, server_url="http://tracker?write_token=s3cret")
    assert (found.target.kind, found.ignored_server) == ("bucket", "http://tracker")


def test_a_server_in_the_code_wins_over_a_bucket_in_the_environment():
    assert choose({"TRACKIO_BUCKET_ID": "me/rows"}, server_url="http://tracker").target.kind == "server"


def test_an_argument_wins_over_the_variable_that_contradicts_it():
    assert choose({"TRACKIO_DATASET_ID": "me/old"}, bucket_id="me/new").target.id == "me/new"
    assert choose({"TRACKIO_SERVER_URL": "http://tracker"}, bucket_id="me/new").target.id == "me/new"


def test_the_write_token_comes_from_the_url_else_from_the_environment_and_never_stands_in_the_target():
    in_url = choose({"TRACKIO_WRITE_TOKEN": "other"}, server_url="http://tracker:7860/?write_token=s3cret")
    assert (in_url.target.id, in_url.token) == ("http://tracker:7860", "s3cret")
    assert "s3cret" not in f"{in_url} {in_url.target.to_json()}"
    assert choose({"TRACKIO_WRITE_TOKEN": "other"}, server_url="http://tracker/sub/").token == "other"
    assert choose(server_url="https://tracker/sub/").target.id == "https://tracker/sub"


@pytest.mark.parametrize(
    ("env", "wish", "message"),
    [
        ({}, {"bucket_id": "me/a", "dataset_id": "me/b"}, "contradict each other"),
        ({"TRACKIO_BUCKET_ID": "me/a", "TRACKIO_DATASET_ID": "me/b"}, {}, "TRACKIO_BUCKET_ID"),
        ({}, {"bucket_id": "me/a", "server_url": "http://tracker"}, "a server keeps its own rows"),
        ({}, {"server_url": "http://tracker", "private": True}, "says nothing to a self-hosted server"),
        ({}, {"private": False}, "none is named"),
        ({}, {"space_id": "not a name"}, "is no name on the Hub"),
        ({}, {"space_id": "a/b/c"}, "is no name on the Hub"),
        ({}, {"bucket_id": "../etc"}, "is no name on the Hub"),
        ({}, {"space_id": "me/x", "private": "yes"}, "choose True or False"),
        ({}, {"server_url": "tracker:7860?write_token=s3cret"}, "is no URL of a server"),
        ({}, {"server_url": "http://user:s3cret@tracker"}, "holds a user name or password"),
    ],
)
def test_a_contradiction_is_an_error_that_names_it_and_no_token(env, wish, message):
    with pytest.raises(ValueError, match=message) as caught:
        choose(env, **wish)
    assert "s3cret" not in str(caught.value)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20))
def test_a_token_of_any_letters_comes_out_of_a_url_as_it_went_in(token):
    from urllib.parse import quote

    base, found = split_server_url(f"http://tracker/?write_token={quote(token, safe='')}#part")
    assert base == "http://tracker"
    assert (found or "") == token


def test_settings_of_a_test_need_no_environment():
    assert Settings(root=Path("/r")).space_id is None
