"""What a host with many live runs costs at the Hub, in simulated time."""

import pytest

from tests.daemon.sending import Time, courier_of, make_run, make_target, rows_in, truth
from tests.hub_server.fixtures import hub, hub_home, hub_server
from tests.shards.conftest import make_header
from trackio_like.daemon.pace import RHYTHMS
from trackio_like.journal.writer import JournalWriter
from trackio_like.shards.seal import WriterSealer

__all__ = ["hub", "hub_home", "hub_server"]

NUM_RUNS = 20


class LiveRuns:
    """Runs that go on logging, a row each at a time, in turn."""

    def __init__(self, root, target):
        self._journals, self._sealers = [], []
        for i in range(NUM_RUNS):
            folder, self.known = make_run(root, target, run_id=f"r{i}")
            writer = f"w-{i}-aa"
            self._journals.append(JournalWriter(folder.journal, make_header(writer=writer, run_id=folder.run_id)))
            self._sealers.append(WriterSealer(folder, writer))
        self.num_rows = 0

    def log(self, num_rows):
        for _ in range(num_rows):
            i = self.num_rows % NUM_RUNS
            self._journals[i].metrics(self.num_rows, ("a",), [1.0])
            self._sealers[i].seal()
            self.num_rows += 1

    def close(self):
        for journal in self._journals:
            journal.close()


def api_calls(hub):
    return [record for record in hub.requests if record.path.startswith("/api/")]


@pytest.mark.parametrize(
    ("kind", "tick_s", "last_s", "min_passes"), [("bucket", 0.5, 300, 100), ("dataset", 10.0, 3600, 50)]
)
def test_twenty_live_runs_of_one_host_cost_few_calls_a_pass_and_stay_within_the_budget(
    hub, root, kind, tick_s, last_s, min_passes
):
    target, time = make_target(hub, kind), Time()
    runs = LiveRuns(root, target)
    courier = courier_of(runs.known, time, rhythm=RHYTHMS[kind])
    runs.log(NUM_RUNS)
    courier.step()
    num_calls = len(api_calls(hub))
    most_calls = 0
    for _ in range(round(last_s / tick_s) - 1):  # the window is open at its end
        time.pass_by(tick_s)
        runs.log(1)
        hub.clear_requests()
        courier.step()
        num_calls += len(api_calls(hub))
        most_calls = max(most_calls, len(api_calls(hub)))
    runs.close()
    assert courier.num_passes >= min_passes
    assert most_calls <= {"bucket": 2, "dataset": 3}[kind]
    if kind == "bucket":
        assert num_calls <= 300
    else:
        assert hub.num_commits("dataset", target.id) - 1 <= 60  # the first one makes it
    time.pass_by(60)
    courier.step(is_full=True)
    assert sum(rows_in(truth(hub, target)).values()) == runs.num_rows


def test_a_window_that_runs_out_is_stretched_to_its_end(hub, root):
    """With 40 calls left in five minutes, half of them are ours: ten passes of two calls."""
    target, time = make_target(hub, "bucket"), Time(steady_s=1200.0)
    hub.limits.clock = lambda: time.steady_s  # a window of its own begins
    runs = LiveRuns(root, target)
    courier = courier_of(runs.known, time, rhythm=RHYTHMS["bucket"])
    runs.log(1)
    courier.step()
    num_used = len(api_calls(hub))
    hub.limits.set_quota("api", num_used + 42)
    time.pass_by(10)
    runs.log(1)
    courier.step()  # is told what is left
    hub.clear_requests()
    for _ in range(57):
        time.pass_by(5)
        runs.log(1)
        courier.step()
    runs.close()
    assert 10 <= len(api_calls(hub)) <= 40
    assert not [record for record in hub.requests if record.status == 429]


def test_no_call_is_made_before_the_time_that_a_refusal_names(hub, root):
    target, time = make_target(hub, "bucket"), Time()
    runs = LiveRuns(root, target)
    courier = courier_of(runs.known, time, rhythm=RHYTHMS["bucket"])
    hub.fail("/api/", kind="status", status=429, headers={"Retry-After": "250"})
    runs.log(NUM_RUNS)
    courier.step()
    hub.clear_requests()
    for _ in range(50):
        time.pass_by(5)
        courier.step()
    assert hub.requests == []
    time.pass_by(2)
    courier.step()
    runs.close()
    assert sum(rows_in(truth(hub, target)).values()) == runs.num_rows
