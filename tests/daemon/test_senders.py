"""What a bucket and a dataset are asked, what they hold afterwards, and how each refusal ends."""

import os
import re
from dataclasses import replace

import pytest
import yaml  # type: ignore[import-untyped]  # ships no types
from huggingface_hub import constants

from tests.daemon.sending import Time, courier_of, log, make_run, make_target, rows_in, truth
from tests.hub_server.fixtures import hub, hub_home, hub_server
from tests.shards.conftest import make_header
from trackio_like.daemon.courier import Courier
from trackio_like.daemon.dataset import DatasetSender
from trackio_like.daemon.pace import RHYTHMS
from trackio_like.daemon.sender import Batch, Upload
from trackio_like.daemon.state import ask_to_hurry, messages
from trackio_like.format.names import ShardName
from trackio_like.hub.access import HubAccess
from trackio_like.journal.writer import JournalWriter
from trackio_like.run.credentials import save_token
from trackio_like.shards.compact import drop_covered, merge_shards
from trackio_like.shards.seal import WriterSealer

__all__ = ["hub", "hub_home", "hub_server"]

BOTH = pytest.mark.parametrize("kind", ["bucket", "dataset"])
A, B, C = "w-1-aa", "w-2-bb", "w-3-cc"


@pytest.fixture
def time():
    return Time()


def api_calls(hub):
    return [(record.method, record.path) for record in hub.requests if record.path.startswith("/api/")]


def calls_of(rows):
    return {row[2:4] for row in rows}


@pytest.fixture
def sent(hub, root, time, request):
    """A target of each kind that took one shard already."""
    kind = request.param
    target = make_target(hub, kind)
    folder, known = make_run(root, target)
    log(folder, A, range(3))
    courier = courier_of(known, time)
    courier.step()
    assert courier.state.word == "ok"
    hub.clear_requests()
    time.pass_by(100)
    return target, folder, known, courier


SENT = pytest.mark.parametrize("sent", ["bucket", "dataset"], indirect=True)


@SENT
def test_a_pass_with_new_shards_takes_few_calls_and_one_without_none(hub, sent, time):
    target, folder, _, courier = sent
    for writer in (B, C):
        log(folder, writer, range(4))
    courier.step()
    assert len(api_calls(hub)) == {"bucket": 2, "dataset": 3}[target.kind]
    assert calls_of(rows_in(truth(hub, target))) == {(A, i) for i in (1, 2, 3)} | {
        (w, i) for w in (B, C) for i in (1, 2, 3, 4)
    }
    hub.clear_requests()
    for _ in range(30):
        time.pass_by(100)
        courier.step(is_full=True)
    assert hub.requests == []


@SENT
def test_another_uploader_sends_nothing_twice_with_or_without_the_ledger(hub, sent, time):
    _, _, known, _ = sent
    courier_of(known, time).step()
    assert hub.requests == []
    known.ledger.unlink()
    again = courier_of(known, time)
    again.step()
    assert again.state.word == "ok"
    assert again.sent_files == 0
    assert not [path for method, path in api_calls(hub) if re.search("/batch$|/commit/", path)]


@BOTH
def test_a_new_target_is_private_unless_asked_otherwise_and_who_makes_it_private_is_told(hub, root, time, kind):
    hub.add_org("strict", members={"me": "admin"}, private_by_default=True)
    names = {"me/closed": True, "me/open": False, "strict/open": False}
    couriers = {}
    for i, (id_, is_private) in enumerate(names.items()):
        target = replace(make_target(hub, kind), id=id_, is_private=is_private)
        folder, known = make_run(root, target, run_id=f"r{i}")
        log(folder, A, [1])
        couriers[id_] = courier_of(known, time)
        couriers[id_].step()
        assert couriers[id_].state.word == "ok"
    is_private = {
        id_: hub.bucket_is_private(id_) if kind == "bucket" else hub.repo_is_private("dataset", id_) for id_ in names
    }
    assert is_private["me/closed"]
    assert not is_private["me/open"]
    assert "created as private" in couriers["strict/open"].state.note or not is_private["strict/open"]
    assert couriers["me/open"].state.note == ""


@SENT
def test_a_target_that_is_gone_is_not_made_again_and_the_user_is_told_how(hub, sent, time):
    target, folder, known, courier = sent
    api = hub.api("me")
    if target.kind == "bucket":
        api.delete_bucket(target.id)
    else:
        api.delete_repo(target.id, repo_type="dataset")
    log(folder, B, [1])
    for _ in range(5):
        courier.step()
        time.pass_by(60)
    assert courier.state.word == "missing"
    assert f"`trackio-like sync --{target.kind} {target.id}` makes it anew" in courier.state.message
    assert messages(known) == [courier.state.message]
    assert not [call for call in api_calls(hub) if call[1].endswith("/create")]
    assert target.id not in (hub.bucket_ids() if target.kind == "bucket" else hub.repo_ids("dataset"))


@SENT
def test_a_refused_token_is_told_once_kept_from_asking_and_healed_by_a_new_one(hub, sent, time, monkeypatch):
    target, folder, known, courier = sent
    hub.expire(os.environ["HF_TOKEN"])
    log(folder, B, [1])
    courier.step()
    assert courier.state.word == "refused"
    assert os.environ["HF_TOKEN"] not in known.state.read_text()
    num_calls = len(hub.requests)
    for _ in range(20):
        time.pass_by(5)
        courier.step()
    assert len(hub.requests) == num_calls
    monkeypatch.setenv("HF_TOKEN", hub.token("me"))
    courier.step()
    assert courier.state.word == "ok"
    assert calls_of(rows_in(truth(hub, target))) == {(A, 1), (A, 2), (A, 3), (B, 1)}


@SENT
def test_a_token_that_a_training_process_left_is_tried_where_the_login_is_refused(hub, sent):
    _, folder, known, courier = sent
    hub.expire(os.environ["HF_TOKEN"])
    save_token(known.key, hub.token("me"))
    log(folder, B, [1])
    courier.step()
    assert courier.state.word == "ok"


@SENT
def test_a_busy_hub_is_left_alone_for_as_long_as_it_asks(hub, sent, time):
    _, folder, known, courier = sent
    headers = {"Retry-After": "100", "RateLimit": '"api";r=0;t=100'}
    hub.fail("/batch$|/commit/", kind="status", status=429, headers=headers)
    log(folder, B, [1])
    courier.step()
    assert courier.state.word == "retrying"
    hub.clear_requests()
    for _ in range(9):
        time.pass_by(10)
        ask_to_hurry(known)
        courier.step()
    assert api_calls(hub) == []
    time.pass_by(12)
    courier.step()
    assert courier.state.word == "ok"
    assert courier.state.message == ""


@SENT
def test_a_covered_shard_goes_from_the_target_after_the_grace_and_its_rows_stay(hub, sent, time):
    target, folder, _, courier = sent
    journal = JournalWriter(folder.journal, make_header(writer=B))
    sealer = WriterSealer(folder, B)
    for _ in range(2):
        journal.metrics(0, ("a",), [1.0])
        sealer.seal()
    journal.close()
    courier.step()
    names = [ShardName(writer=B, first=i, last=i) for i in (1, 2)]
    merge_shards(folder.shards("metrics"), "metrics", names)
    drop_covered(folder.shards("metrics"), grace_s=0)
    time.pass_by(100)
    courier.step(is_full=True)
    paths = {f"p/r/metrics/{name}" for name in (*names, ShardName(writer=B, first=1, last=2))}
    assert paths <= truth(hub, target).keys()
    time.pass_by(299)
    courier.step()
    assert paths <= truth(hub, target).keys()
    time.pass_by(2)
    courier.step()
    assert paths & truth(hub, target).keys() == {f"p/r/metrics/{B}-1-2.parquet"}
    assert calls_of(rows_in(truth(hub, target))) == {(A, 1), (A, 2), (A, 3), (B, 1), (B, 2)}


@SENT
def test_a_file_that_vanishes_while_it_is_sent_does_not_keep_the_others(hub, sent):
    _, folder, _, courier = sent
    log(folder, B, [1])
    log(folder, C, [1])
    courier.uploader.look()
    (folder.shards("metrics") / f"{B}-1-1.parquet").unlink()
    sent_now = courier.uploader.send()
    assert sent_now.outcome.stored == {f"p/r/metrics/{C}-1-1.parquet"}
    assert not courier.uploader.look(is_full=True).has_work


def test_a_bucket_that_fails_some_files_gets_only_those_again(hub, root, time):
    target = make_target(hub, "bucket")
    folder, known = make_run(root, target)
    for writer in (A, B):
        log(folder, writer, [1])
    hub.fail("/batch$", kind="partial", paths=B)
    courier = courier_of(known, time)
    courier.step()
    assert list(truth(hub, target)) == [f"p/r/metrics/{A}-1-1.parquet"]
    assert courier.sent_files == 1
    time.pass_by(1)
    courier.step()
    assert courier.sent_files == 2
    assert calls_of(rows_in(truth(hub, target))) == {(A, 1), (B, 1)}


def test_a_file_that_a_bucket_never_takes_is_set_aside_with_its_reason(hub, root, time):
    target = make_target(hub, "bucket")
    folder, known = make_run(root, target)
    log(folder, A, [1])
    hub.fail("/batch$", kind="partial", paths=A, error="no such thing is taken here", times=None)
    courier = courier_of(known, time)
    for i in range(20):
        log(folder, f"w-9-{i}", [1])
        time.pass_by(300)
        courier.step(is_full=True)
    assert courier.state.word == "ok"
    assert courier.state.num_rejected == 1
    assert courier.uploader.ledger.rejected("p/r") == {f"p/r/metrics/{A}-1-1.parquet": "no such thing is taken here"}
    assert len(rows_in(truth(hub, target))) == 20


def test_a_secret_in_one_file_sets_that_file_aside_and_the_rest_is_committed(hub, root, time):
    target = make_target(hub, "dataset")
    folder, known = make_run(root, target)
    for i in range(6):
        path = folder.path / "media" / "1" / f"{i}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("hf_" + "x" * 34 if i == 3 else f"text {i}")
    log(folder, A, [1])
    courier = courier_of(known, time)
    courier.step()
    assert list(courier.uploader.ledger.rejected("p/r")) == ["p/r/media/1/3.txt"]
    log(folder, B, [1])
    time.pass_by(100)
    courier.step()
    assert courier.state.word == "ok"
    assert calls_of(rows_in(truth(hub, target))) == {(A, 1), (B, 1)}
    assert {path for path in truth(hub, target) if "/media/" in path} == {
        f"p/r/media/1/{i}.txt" for i in (0, 1, 2, 4, 5)
    }


def test_a_refusal_that_names_no_file_is_traced_by_halving(hub, root, time):
    target = make_target(hub, "dataset")
    folder, known = make_run(root, target)
    for i in range(7):
        log(folder, f"w-{i}-aa", [1])
    courier = courier_of(known, time)
    hub.fail("/commit/", kind="status", status=400, body={"error": "a secret was found"}, times=3)
    courier.step()
    assert len(courier.uploader.ledger.all_rejected()) == 1
    assert len(rows_in(truth(hub, target))) == 6


def test_a_hub_that_refuses_every_commit_sets_nothing_aside(hub, root, time):
    target = make_target(hub, "dataset")
    folder, known = make_run(root, target)
    for i in range(4):
        log(folder, f"w-{i}-aa", [1])
    courier = courier_of(known, time)
    hub.fail("/commit/", kind="status", status=400, body={"error": "not now"}, times=None)
    courier.step()
    assert courier.state.word == "retrying"
    assert courier.uploader.ledger.all_rejected() == {}
    hub.clear_faults()
    time.pass_by(20)
    courier.step()
    assert len(rows_in(truth(hub, target))) == 4


def test_the_card_names_the_kinds_that_are_there_and_is_written_again_only_for_a_new_one(hub, root, time):
    target = make_target(hub, "dataset")
    folder, known = make_run(root, target)
    log(folder, A, [1])
    courier = courier_of(known, time)
    courier.step()

    def card():
        text = hub.repo_files("dataset", target.id)["README.md"].decode()
        return yaml.safe_load(text.split("---")[1])["configs"]

    metrics = {"config_name": "metrics", "data_files": "*/*/metrics/*.parquet", "default": True}
    assert card() == [metrics]
    hub.clear_requests()
    time.pass_by(100)
    log(folder, B, [1])
    courier.step()
    assert not [path for _, path in api_calls(hub) if "yaml" in path]
    time.pass_by(100)
    journal = JournalWriter(folder.journal, make_header(writer=C))
    journal.event("config", {"values": {}})
    journal.close()
    WriterSealer(folder, C).seal()
    courier.step()
    assert card() == [metrics, {"config_name": "events", "data_files": "*/*/events/*.parquet"}]


def test_a_card_that_a_person_wrote_is_never_touched(hub, root, time):
    target = make_target(hub, "dataset")
    api = hub.api("me")
    api.create_repo(target.id, repo_type="dataset")
    api.upload_file(path_or_fileobj=b"# Mine", path_in_repo="README.md", repo_id=target.id, repo_type="dataset")
    folder, known = make_run(root, target)
    log(folder, A, [1])
    courier_of(known, time).step()
    assert hub.repo_files("dataset", target.id)["README.md"] == b"# Mine"
    assert len(rows_in(truth(hub, target))) == 1


def test_a_long_history_is_squashed_where_that_is_asked_for(hub, root):
    target = make_target(hub, "dataset")
    folder, _ = make_run(root, target)
    sender = DatasetSender(target, HubAccess.from_login(hub.endpoint), squash_after=4)
    sender.prepare()
    for i in range(5):
        log(folder, f"w-{i}-aa", [1])
        path = f"p/r/metrics/w-{i}-aa-1-1.parquet"
        file = root / path
        sender.send(Batch(uploads=(Upload(path=path, file=file, num_bytes=file.stat().st_size),)))
    assert hub.num_commits("dataset", target.id) <= 4
    assert len(rows_in(truth(hub, target))) == 5


def test_commits_to_a_dataset_are_a_minute_apart_whoever_makes_them_and_whoever_waits(hub, root, time):
    target = make_target(hub, "dataset")
    folder, known = make_run(root, target)
    couriers = [courier_of(known, time, rhythm=RHYTHMS["dataset"]) for _ in range(3)]
    for i in range(30):
        log(folder, f"w-{i}-aa", [1])
        ask_to_hurry(known)
        couriers[i % 3].step(is_full=True, is_last=True)
        time.pass_by(10)
    num_data_commits = hub.num_commits("dataset", target.id) - 1
    assert num_data_commits == 5


def test_a_conflict_is_tried_again_at_once_and_a_lasting_one_later(hub, root, time):
    target = make_target(hub, "dataset")
    folder, known = make_run(root, target)
    log(folder, A, [1])
    courier = courier_of(known, time)
    hub.fail("/commit/", kind="status", status=412, times=2)
    courier.step()
    assert courier.state.word == "ok"
    hub.fail("/commit/", kind="status", status=409, times=4)
    log(folder, B, [1])
    time.pass_by(100)
    courier.step()
    assert courier.state.word == "retrying"
    time.pass_by(20)
    courier.step()
    assert calls_of(rows_in(truth(hub, target))) == {(A, 1), (B, 1)}


@BOTH
def test_an_account_that_is_busy_with_another_change_is_asked_once_and_later_again(hub, root, time, kind):
    target = make_target(hub, kind)
    folder, known = make_run(root, target)
    log(folder, A, [1])
    body = {"error": "Cannot create repo: another conflicting operation is in progress"}
    making = "^/api/buckets/[^/]+/[^/]+$|^/api/repos/create$"
    hub.fail(making, kind="status", method="POST", status=409, body=body, times=None)
    courier = courier_of(known, time)
    courier.step()
    assert courier.state.word == "retrying"
    assert "another change" in courier.state.message
    assert len(api_calls(hub)) == 1
    hub.clear_faults()
    time.pass_by(20)
    courier.step()
    assert calls_of(rows_in(truth(hub, target))) == {(A, 1)}


def test_nothing_is_asked_where_the_network_is_forbidden(hub, root, time, monkeypatch):
    folder, known = make_run(root, make_target(hub, "bucket"))
    log(folder, A, [1])
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    courier = courier_of(known, time)
    courier.step()
    assert courier.state.word == "offline"
    assert not courier.is_worth_staying
    assert hub.requests == []


def test_a_fault_of_the_disk_leaves_the_courier_alive(hub, root, time):
    folder, known = make_run(root, make_target(hub, "bucket"))
    log(folder, A, [1])
    known.ledger.mkdir()
    courier = courier_of(known, time)
    assert courier.step() > 0
    known.ledger.rmdir()
    time.pass_by(20)
    courier.step()
    assert isinstance(courier, Courier)
    assert courier.state.word == "ok"
