"""Events add up to a run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackio_like.query.fold import fold
from trackio_like.query.records import Alert, Definition, Event, RunDescription, WriterSigns


def event(time_us: int, type_: str, *, writer: str = "w1", seq: int = 0, attempt: int = 1, **payload: Any) -> Event:
    return Event(time_us=time_us, writer=writer, seq=seq or time_us, attempt=attempt, type=type_, payload=payload)


def signs(writer: str = "w1", **known: Any) -> dict[str, WriterSigns]:
    return {writer: WriterSigns(**{"writer": writer, "attempt": 1, "rank": 0, **known})}


def test_nothing_is_known_of_a_run_without_events():
    assert fold([], {}) == RunDescription()


def test_init_tells_name_group_tags_config_and_time():
    run = fold([event(5, "init", name="n", group="g", tags=["a", "b", "a"], config={"lr": 0.1}, created_us=4)], {})
    assert (run.name, run.group, run.tags, run.config, run.created_us) == ("n", "g", ("a", "b"), {"lr": 0.1}, 4)
    assert run.state == "running"
    assert run.finished_us is None


def test_events_count_in_the_order_of_time_whatever_order_they_come_in():
    events = [
        event(3, "config", values={"a": 3}),
        event(1, "init", config={"a": 1, "b": 1}),
        event(2, "config", values={"a": 2}),
    ]
    assert fold(events, {}).config == {"a": 3, "b": 1}


def test_rename_tags_and_group_by_another_writer_change_only_that():
    run = fold(
        [
            event(1, "init", name="old", tags=["a"]),
            event(2, "finish", state="finished"),
            event(3, "rename", writer="w9", name="new"),
            event(4, "tags", writer="w9", tags=["b"]),
            event(5, "group", writer="w9", group="g"),
        ],
        {},
    )
    assert (run.name, run.tags, run.group, run.state, len(run.attempts)) == ("new", ("b",), "g", "finished", 1)
    assert run.finished_us == 2


def test_a_resume_keeps_the_new_name_and_adds_to_the_config():
    run = fold(
        [
            event(1, "init", name="old", config={"a": 1}),
            event(2, "finish", state="crashed"),
            event(3, "rename", writer="w9", name="new"),
            event(10, "init", writer="w2", attempt=2, name="old", config={"b": 2}, resumed=True),
        ],
        {},
    )
    assert (run.name, run.config, run.state) == ("new", {"a": 1, "b": 2}, "running")
    assert [(a.number, a.state) for a in run.attempts] == [(1, "crashed"), (2, "running")]


@pytest.mark.parametrize("state", ["finished", "failed", "terminated", "cancelled", "preempted", "my own word"])
def test_the_state_is_the_word_of_finish(state):
    assert fold([event(1, "init"), event(2, "finish", state=state)], {}).state == state


def test_a_failure_tells_its_error():
    assert fold([event(1, "init"), event(2, "finish", state="failed", error="boom")], {}).error == "boom"


def test_a_run_runs_while_any_of_its_writers_does():
    events = [event(1, "init"), event(2, "init", writer="w2"), event(3, "finish", state="finished")]
    assert fold(events, {}).state == "running"
    assert fold([*events, event(4, "finish", writer="w2", state="failed")], {}).state == "finished"


def test_a_writer_that_vanished_is_crashed_until_it_writes_again():
    events = [event(1, "init"), event(50, "crash", writer="daemon", attempt=1)]
    events[1].payload["writer"] = "w1"
    assert fold(events, signs(first_us=2, last_us=40)).state == "crashed"
    assert fold(events, signs(first_us=2, last_us=60)).state == "running"


def test_a_finish_outweighs_a_crash_that_was_recorded_too():
    crash = Event(time_us=9, writer="daemon", seq=1, attempt=1, type="crash", payload={"writer": "w1"})
    assert fold([event(1, "init"), event(8, "finish", state="finished"), crash], {}).state == "finished"


def test_a_process_that_is_gone_without_a_word_has_crashed():
    assert fold([event(1, "init")], signs(first_us=2, last_us=3, is_dead=True)).state == "crashed"
    assert fold([event(1, "init"), event(4, "finish", state="finished")], signs(is_dead=True)).state == "finished"


def test_times_are_summed_over_attempts_and_spanned_over_all():
    run = fold(
        [
            event(1_000_000, "init"),
            event(3_000_000, "finish", state="failed"),
            event(10_000_000, "init", writer="w2", attempt=2),
            event(14_000_000, "finish", writer="w2", attempt=2, state="finished"),
        ],
        {},
    )
    assert (run.active_s, run.span_s, run.finished_us) == (6.0, 13.0, 14_000_000)


def test_the_last_definition_of_a_name_counts():
    run = fold(
        [
            event(1, "define_metric", name="val/*", step_metric="step"),
            event(2, "define_metric", name="val/*", step_metric="epoch", summary="min"),
        ],
        {},
    )
    assert run.definitions == (Definition(name="val/*", step_metric="epoch", summary="min"),)


def test_alerts_are_kept_in_order():
    run = fold([event(2, "alert", title="b", text="t", level="error"), event(1, "alert", title="a")], {})
    assert run.alerts == (
        Alert(time_us=1, title="a", text="", level="info"),
        Alert(time_us=2, title="b", text="t", level="error"),
    )


def test_deleting_is_undone_by_restoring():
    events = [event(1, "init"), event(2, "delete", writer="w9")]
    assert fold(events, {}).is_deleted
    assert not fold([*events, event(3, "restore", writer="w9")], {}).is_deleted


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
types = [
    "init",
    "config",
    "define_metric",
    "finish",
    "crash",
    "rename",
    "tags",
    "group",
    "delete",
    "alert",
    "sampler",
    "x",
]
fields = [
    "name",
    "group",
    "tags",
    "config",
    "values",
    "state",
    "writer",
    "error",
    "title",
    "level",
    "status",
    "created_us",
]


@given(
    st.lists(
        st.builds(
            lambda t, w, a, kind, payload: Event(time_us=t, writer=w, seq=1, attempt=a, type=kind, payload=payload),
            st.integers(0, 99),
            st.sampled_from(["w1", "w2"]),
            st.integers(1, 3),
            st.sampled_from(types),
            st.dictionaries(st.sampled_from(fields), anything, max_size=4),
        ),
        max_size=8,
    )
)
def test_no_payload_breaks_the_fold(events):
    assert isinstance(fold(events, {}), RunDescription)
