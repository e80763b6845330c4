"""When the next pass is due."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackio_like.daemon.pace import RHYTHMS, Pace

HOUR_S = 3600.0


def due(pace, kind="bucket", *, age_s=0.0, is_hurried=False, tokens=frozenset("a"), jitter=1.0):
    return pace.due_s(RHYTHMS[kind], age_s=age_s, is_hurried=is_hurried, tokens=tokens, jitter=jitter)


def sent(at=100.0, **traffic):
    return Pace().after_success(began_s=at, now_s=at + 1, **traffic)


@pytest.mark.parametrize(
    ("kind", "age_s", "interval_s"),
    [
        ("bucket", 0, 2.5),
        ("bucket", HOUR_S / 2 - 1, 2.5),
        ("bucket", HOUR_S / 2, 5),
        ("bucket", 3 * HOUR_S, 10),
        ("dataset", 0, 60),
        ("dataset", HOUR_S, 300),
        ("server", 0, 1),
    ],
)
def test_the_interval_grows_with_the_age_of_the_youngest_run(kind, age_s, interval_s):
    assert due(sent(), kind, age_s=age_s) == 100 + interval_s


def test_the_first_pass_is_due_at_once():
    assert due(Pace()) == 0.0


def test_who_waits_is_served_soon_but_never_below_the_floor():
    assert due(sent(), "bucket", age_s=9 * HOUR_S, is_hurried=True) == 100.5
    assert due(sent(), "dataset", age_s=9 * HOUR_S, is_hurried=True) == 160.0


def test_failures_double_the_wait_up_to_a_quarter_minute_and_after_ten_minutes_to_four():
    pace, waits = Pace(), []
    now_s = 1000.0
    for _ in range(50):
        pace = pace.after_failure(now_s=now_s)
        waits.append(due(pace) - now_s)
        now_s = due(pace)
    assert waits[:6] == [1, 2, 4, 8, 15, 15]
    assert waits[-1] == 240
    assert 600 <= sum(waits[: waits.index(240)]) <= 615


def test_a_dataset_is_not_committed_to_below_its_floor_after_a_failure_either():
    assert due(sent().after_failure(now_s=103.0), "dataset") == 160.0


def test_what_the_remote_asks_for_is_kept_also_by_who_hurries():
    assert due(Pace().after_failure(now_s=10.0, retry_after_s=900.0), is_hurried=True) == 910.0


def test_a_success_ends_the_back_off():
    assert due(Pace().after_failure(now_s=1.0).after_failure(now_s=2.0).after_success(began_s=5, now_s=6)) == 7.5


def test_a_window_that_runs_low_stretches_the_interval_and_an_empty_one_is_waited_for():
    plenty = sent(num_api_calls=2, num_left=900, window_left_s=300.0)
    low = sent(num_api_calls=2, num_left=100, window_left_s=200.0)
    empty = sent(num_api_calls=2, num_left=1, window_left_s=200.0)
    assert due(plenty) == 102.5
    assert due(low) == 100 + 8.0
    assert due(low, is_hurried=True) == 100 + 8.0
    assert due(empty) == 101 + 201.0


def test_a_refused_token_is_tried_again_when_it_changed_and_every_few_minutes():
    refused = Pace().after_refusal(now_s=50.0, tokens=frozenset("a"))
    assert due(refused, tokens=frozenset("a")) == 230.0
    assert due(refused, tokens=frozenset("b")) == 50.0
    assert due(refused, tokens=frozenset()) == 50.0


def test_who_asks_for_an_interval_gets_it_at_every_age():
    rhythm = RHYTHMS["dataset"].every(0.2)
    assert rhythm.interval_s(0) == rhythm.interval_s(1e9) == 0.2
    assert rhythm.floor_s == 0.2


def test_twenty_runs_on_one_bucket_stay_within_the_calls_that_are_ours():
    """Two calls a pass, whatever the number of runs; 300 of the Hub's 1000 calls in five minutes are ours at most."""
    assert 2 * 300 / RHYTHMS["bucket"].interval_s(0) <= 300


@given(
    st.integers(min_value=1, max_value=3000),
    st.floats(min_value=0, max_value=1),
    st.floats(min_value=0, max_value=1e7),
)
def test_the_wait_after_any_failure_is_above_zero_and_bounded(num_failures, jitter, outage_s):
    pace = Pace(num_failures=num_failures, failing_since_s=0.0, failed_s=outage_s)
    wait_s = due(pace, jitter=jitter) - outage_s
    assert 0.7 <= wait_s <= 240.1
