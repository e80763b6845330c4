"""`Api` over what lies on the Hub: every row once while it is written and merged, changes, and what it costs."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import trackio_like as trackio
from space_app.api import create_api
from space_app.api.access import Access
from space_app.api.service import Service
from tests.flow.conftest import until
from tests.store.recording import Recorded, rows_of
from trackio_like.daemon.deploy import deploy
from trackio_like.errors import RemoteError, RemoteMissingError
from trackio_like.format.targets import Target
from trackio_like.hub.access import HubAccess
from trackio_like.query.api import Api

BUCKET, DATASET = "me/rows", "me/set"


class Hosted:
    """A run that is sealed, merged and cleaned up at the source, and what of it lies in a bucket."""

    def __init__(self, hub, root: Path) -> None:
        self.run = Recorded(root)
        self.writer = self.run.writer()
        self.writer.event("init", {"name": "first", "config": {"lr": 0.5}, "attempt": 1})
        self._hub = hub
        hub.api("me").create_bucket(BUCKET, exist_ok=True)

    def log(self, *steps: int) -> None:
        for step in steps:
            self.run.log(self.writer, step, a=float(step), b=float(-step))
        self.run.seal(self.writer)

    def paths(self) -> dict[str, Path]:
        return {path.relative_to(self.run.root).as_posix(): path for path in self.run.root.rglob("*.parquet")}

    def send(self) -> None:
        """Makes the bucket what the root is: what is new first, what is gone after it."""
        here, there = self.paths(), set(self._hub.bucket_files(BUCKET))
        added = [(str(path), name) for name, path in here.items() if name not in there]
        if added:
            self._hub.api("me").batch_bucket_files(BUCKET, add=added)
        if there - here.keys():
            self._hub.api("me").batch_bucket_files(BUCKET, delete=sorted(there - here.keys()))

    def compact(self) -> None:
        self.run.compact(self.writer)

    def truth(self) -> list[tuple[str, int, str]]:
        return sorted(self.run.rows)


@pytest.fixture
def hosted(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "copies"))
    found = Hosted(hub, tmp_path / "source")
    found.log(1, 2, 3)
    found.send()
    return found


def rows(run):
    table = run.history()
    columns = (table[name].to_pylist() for name in ("writer", "seq", "key"))
    return sorted(zip(*columns, strict=True))


def plain_rows(root):
    """The rows of all shards together; None where one went meanwhile."""
    try:
        return sorted(row for path in root.glob("p/*/metrics/*.parquet") for row in rows_of(path, after=0))
    except FileNotFoundError:
        return None


def test_what_lies_in_a_bucket_is_read_like_a_root(hosted):
    with trackio.Api(bucket_id=BUCKET) as api:
        assert api.projects() == ["p"]
        [run] = api.runs("p")
        assert (run.name, run.config, run.summary) == ("first", {"lr": 0.5}, {"a": 3.0, "b": -3.0})
        assert rows(run) == hosted.truth()
        hosted.log(4)
        hosted.send()
        until(lambda: run.summary["a"] == 4.0)
        assert rows(run) == hosted.truth()


def test_no_row_is_lost_or_doubled_while_the_source_is_merged_under_a_copy(hub, hosted):
    """Each look sees the rows of some moment: none twice, none less than the look before."""
    hub.fail("/resolve/", kind="delay", delay_s=0.02, times=None)
    ended = threading.Event()

    def train() -> None:
        step = 4
        for _ in range(6):
            for _ in range(4):
                hosted.log(step)
                hosted.send()
                step += 1
            hosted.compact()
            hosted.send()
            hosted.run.drop_covered()
            hosted.send()
        ended.set()

    with trackio.Api(bucket_id=BUCKET) as api:
        [run] = api.runs("p")
        thread = threading.Thread(target=train)
        thread.start()
        num_seen, looks = 0, set()
        try:
            while not ended.is_set():
                counted = Counter(rows(run))
                assert max(counted.values()) == 1
                assert len(counted) >= num_seen
                num_seen = len(counted)
                looks.add(num_seen)
        finally:
            thread.join()
        until(lambda: rows(run) == hosted.truth())
        until(lambda: run.num_rows == len(hosted.truth()))
        assert list(run.series("a").y) == [float(step) for step in range(1, 28)]
        # What the shards say to a reader that knows nothing of merging: the covered ones are gone in the end.
        until(lambda: plain_rows(api.root) == hosted.truth())
    assert len(looks) > 2
    assert hub.leaks == []


def test_changes_are_written_to_the_bucket_and_seen_by_others(hub, hosted, tmp_path):
    with trackio.Api(bucket_id=BUCKET) as api:
        run = api.run("p", "first")
        run.rename("renamed")
        run.set_tags(["good"])
        run.set_group("sweep")
        assert (run.name, run.tags, run.group) == ("renamed", ("good",), "sweep")
        until(lambda: len([name for name in hub.bucket_files(BUCKET) if "/events/" in name]) == 4)
    _download(hub, tmp_path / "elsewhere")
    [seen] = Api(tmp_path / "elsewhere").runs("p")
    assert (seen.name, seen.tags, seen.group) == ("renamed", ("good",), "sweep")


def test_a_run_is_deleted_restored_and_purged_in_the_bucket(hub, hosted):
    hosted.writer.event("finish", {"state": "finished"})
    hosted.run.seal(hosted.writer)
    hosted.send()
    with trackio.Api(bucket_id=BUCKET) as api:
        run_id = api.run("p", "first").id
        api.run("p", run_id).delete()
        assert api.runs("p") == []
        assert [run.id for run in api.deleted("p")] == [run_id]
        assert api.restore("p", run_id).name == "first"
        api.run("p", run_id).delete()
        assert api.purge("p").purged == (run_id,)
        assert hub.bucket_files(BUCKET) == {}
        until(lambda: api.projects() == [])


def test_who_may_only_read_cannot_change_anything(hub, hosted):
    before = hub.bucket_files(BUCKET)
    with trackio.Api(bucket_id=BUCKET, token=hub.token("me", "read")) as api:
        run = api.run("p", "first")
        with pytest.raises(RemoteError, match=BUCKET):
            run.rename("renamed")
        assert run.name == "first"
    assert hub.bucket_files(BUCKET) == before


def test_a_dataset_is_read_at_one_commit_and_goes_on_with_the_next(hub, hosted):
    api_of_hub = hub.api("me")
    api_of_hub.create_repo(DATASET, repo_type="dataset")
    api_of_hub.upload_folder(
        folder_path=str(hosted.run.root), repo_id=DATASET, repo_type="dataset", allow_patterns="**/*.parquet"
    )
    hub.clear_requests()
    with trackio.Api(dataset_id=DATASET) as api:
        [run] = api.runs("p")
        assert rows(run) == hosted.truth()
        listed = {record.path for record in hub.requests if "/tree/" in record.path}
        fetched = {
            record.path.split("/resolve/")[1].split("/")[0] for record in hub.requests if "/resolve/" in record.path
        }
        assert listed == {f"/api/datasets/{DATASET}/tree/{sha}" for sha in fetched}
        assert len(fetched) == 1
        hosted.log(4)
        api_of_hub.upload_folder(
            folder_path=str(hosted.run.root), repo_id=DATASET, repo_type="dataset", allow_patterns="**/*.parquet"
        )
        until(lambda: rows(run) == hosted.truth())
    assert hub.leaks == []


def test_what_a_space_shows_is_read_by_its_name(hub, hosted):
    access = HubAccess(endpoint=hub.endpoint, token=hub.tokens["me"])
    deploy(access, Target(kind="bucket", id=BUCKET, space_id="me/board", endpoint=hub.endpoint))
    with trackio.Api(space_id="me/board") as api:
        assert rows(api.run("p", "first")) == hosted.truth()


def test_a_space_that_is_not_ours_is_an_error_that_says_so(hub):
    hub.api("me").create_repo("me/other", repo_type="space", space_sdk="static")
    with pytest.raises(RemoteMissingError, match="not made by trackio_like"):
        trackio.Api(space_id="me/other")


@pytest.mark.parametrize("arguments", [{"bucket_id": "nonsense"}, {"bucket_id": "a/b", "dataset_id": "a/b"}])
def test_what_names_no_place_is_refused_before_anything_is_asked(hub, arguments):
    with pytest.raises(ValueError, match=r"namespace/name|one thing"):
        trackio.Api(**arguments)
    assert hub.requests == []


def test_a_private_bucket_without_a_token_is_an_error_that_names_it_and_leaves_no_thread(hub):
    hub.api("other").create_bucket("other/secret", private=True)
    with pytest.raises(RemoteError, match="other/secret"):
        trackio.Api(bucket_id="other/secret", token="")
    with pytest.raises(RemoteError, match="other/secret"):
        trackio.Api(bucket_id="other/secret")
    with pytest.raises(RemoteMissingError, match="me/nowhere"):
        trackio.Api(bucket_id="me/nowhere")
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("trackio-like-mirror")])


def test_many_who_look_cost_the_hub_nothing(hub, hosted):
    with trackio.Api(bucket_id=BUCKET) as api:
        until(lambda: hub.num_followers(BUCKET) == 1)
        app = create_api(Service(api.root), access=Access(is_loopback=True, port=7860), is_read_only=True)
        hub.clear_requests()

        def look(seen: list[str]) -> None:
            with TestClient(app, base_url="http://127.0.0.1:7860") as browser:
                for _ in range(5):
                    answer = browser.post("/poll", content=json.dumps({"project": "p", "panels": []}))
                    assert answer.status_code == 200
                    seen.append(browser.get("/meta").json()["projects"][0]["name"])

        seen: list[str] = []
        threads = [threading.Thread(target=look, args=(seen,)) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == ["p"] * 50
        assert [record.path for record in hub.requests if not record.path.endswith("/events")] == []


def test_the_dashboard_of_a_bucket_says_how_far_its_copy_is(hub, hosted):
    hub.fail("/resolve/", kind="hang", times=None)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "space_app", "--bucket", BUCKET, "--port", str(port), "--ends-with-stdin"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def meta():
        try:
            with opener.open(f"http://127.0.0.1:{port}/t/meta", timeout=10) as answer:
                return json.load(answer)
        except OSError:
            return None

    try:
        held = until(lambda: (found := meta()) and found["mirror"]["num_files"] and found, timeout_s=50)
        assert (held["mirror"]["state"], held["mirror"]["num_done"]) == ("copying", 0)
        assert held["projects"] == []
        hub.clear_faults()
        shown = until(lambda: (found := meta()) and found["projects"] and found, timeout_s=50)
        assert [project["name"] for project in shown["projects"]] == ["p"]
        until(lambda: (found := meta()) and found["mirror"]["state"] == "following", timeout_s=50)
    finally:
        process.stdin.close()
        process.wait(timeout=20)


def _download(hub, folder: Path) -> None:
    for name, content in hub.bucket_files(BUCKET).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
