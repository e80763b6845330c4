"""What a run's events add up to: pure, so every case is a unit test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from trackio_like.query.records import Alert, Attempt, Definition, Event, RunDescription, WriterSigns

RUNNING: Final = "running"
CRASHED: Final = "crashed"
UNKNOWN: Final = "unknown"


@dataclass(slots=True)
class FoldedEvents:
    """What a run's events say, before it is known which of its writers still live."""

    name: str | None = None
    group: str | None = None
    tags: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    created_us: int | None = None
    definitions: dict[str, Definition] = field(default_factory=dict)
    alerts: list[Alert] = field(default_factory=list)
    sampler: str | None = None
    is_deleted: bool = False
    begun: dict[str, Event] = field(default_factory=dict)
    """The `init` of each writer that has one."""
    ended: dict[str, Event] = field(default_factory=dict)
    """The last `finish` of each writer that has one."""
    crashed_us: dict[str, int] = field(default_factory=dict)


def fold(events: Iterable[Event], writers: Mapping[str, WriterSigns]) -> RunDescription:
    """The run that these events describe.

    Args:
        events: all of them, in any order.
        writers: what is known of the writers from their rows, by writer.
    """
    return describe(fold_events(events), writers)


def fold_events(events: Iterable[Event]) -> FoldedEvents:
    """What the events say by themselves.

    Args:
        events: all of them, in any order.
    """
    draft = FoldedEvents()
    for event in sorted(events, key=lambda e: (e.time_us, e.writer, e.seq)):
        apply = _APPLY.get(event.type)
        if apply is not None:
            apply(draft, event)
    return draft


def describe(draft: FoldedEvents, writers: Mapping[str, WriterSigns]) -> RunDescription:
    """The run, once it is known which writers live and when they last logged."""
    attempts = _attempts(draft, writers)
    created_us = draft.created_us
    if attempts:
        first_sign_us = attempts[0].started_us
        created_us = first_sign_us if created_us is None else min(created_us, first_sign_us)
    state = attempts[-1].state if attempts else UNKNOWN
    last_us = max((attempt.ended_us for attempt in attempts), default=None)
    return RunDescription(
        name=draft.name,
        group=draft.group,
        tags=draft.tags,
        config=draft.config,
        metadata=draft.metadata,
        state=state,
        error=_error(draft, attempts),
        created_us=created_us,
        finished_us=None if state == RUNNING else last_us,
        active_s=sum(attempt.ended_us - attempt.started_us for attempt in attempts) / 1e6,
        span_s=0.0 if created_us is None or last_us is None else (last_us - created_us) / 1e6,
        attempts=attempts,
        definitions=tuple(draft.definitions.values()),
        alerts=tuple(draft.alerts),
        sampler=draft.sampler,
        is_deleted=draft.is_deleted,
    )


# -- one function per type of event ------------------------------------------------------------------------------


def _init(draft: FoldedEvents, event: Event) -> None:
    payload = event.payload
    is_first = not draft.begun
    draft.begun.setdefault(event.writer, event)
    draft.config.update(_map(payload.get("config")))
    draft.metadata.update(_map(payload.get("metadata")))
    # A later init (another rank, a resume) fills gaps; only a rename event takes a name away.
    if is_first or draft.name is None:
        draft.name = _text(payload.get("name")) or draft.name
    draft.group = _text(payload.get("group")) or draft.group
    draft.tags = tuple(dict.fromkeys([*draft.tags, *_texts(payload.get("tags"))]))
    created_us = payload.get("created_us")
    if draft.created_us is None:
        draft.created_us = created_us if isinstance(created_us, int) else event.time_us


def _config(draft: FoldedEvents, event: Event) -> None:
    draft.config.update(_map(event.payload.get("values")))


def _define_metric(draft: FoldedEvents, event: Event) -> None:
    name = _text(event.payload.get("name"))
    if name:
        draft.definitions[name] = Definition(
            name=name,
            step_metric=_text(event.payload.get("step_metric")),
            summary=_text(event.payload.get("summary")),
        )


def _finish(draft: FoldedEvents, event: Event) -> None:
    draft.ended[event.writer] = event


def _crash(draft: FoldedEvents, event: Event) -> None:
    writer = _text(event.payload.get("writer"))
    if writer:
        draft.crashed_us[writer] = event.time_us


def _rename(draft: FoldedEvents, event: Event) -> None:
    draft.name = _text(event.payload.get("name")) or draft.name


def _tags(draft: FoldedEvents, event: Event) -> None:
    draft.tags = tuple(dict.fromkeys(_texts(event.payload.get("tags"))))


def _group(draft: FoldedEvents, event: Event) -> None:
    draft.group = _text(event.payload.get("group"))


def _delete(draft: FoldedEvents, _event: Event) -> None:
    draft.is_deleted = True


def _restore(draft: FoldedEvents, _event: Event) -> None:
    draft.is_deleted = False


def _alert(draft: FoldedEvents, event: Event) -> None:
    payload = event.payload
    draft.alerts.append(
        Alert(
            time_us=event.time_us,
            title=str(payload.get("title") or ""),
            text=str(payload.get("text") or ""),
            level=str(payload.get("level") or "info"),
        )
    )


def _sampler(draft: FoldedEvents, event: Event) -> None:
    draft.sampler = _text(event.payload.get("status"))


_APPLY: Final[Mapping[str, Callable[[FoldedEvents, Event], None]]] = {
    "init": _init,
    "config": _config,
    "define_metric": _define_metric,
    "finish": _finish,
    "crash": _crash,
    "rename": _rename,
    "tags": _tags,
    "group": _group,
    "delete": _delete,
    "restore": _restore,
    "alert": _alert,
    "sampler": _sampler,
}


# -- attempts and state ------------------------------------------------------------------------------------------


def _attempts(draft: FoldedEvents, writers: Mapping[str, WriterSigns]) -> tuple[Attempt, ...]:
    # A writer that only renamed, tagged or recorded a crash takes no part in the run.
    members = {
        writer: signs for writer, signs in writers.items() if signs.first_us is not None or writer in draft.begun
    }
    for writer, event in draft.begun.items():
        members.setdefault(writer, WriterSigns(writer=writer, attempt=event.attempt, rank=0))
    by_number: dict[int, list[WriterSigns]] = {}
    for signs in members.values():
        by_number.setdefault(signs.attempt, []).append(signs)
    return tuple(_attempt(draft, number, by_number[number]) for number in sorted(by_number))


def _attempt(draft: FoldedEvents, number: int, members: list[WriterSigns]) -> Attempt:
    spans = {signs.writer: _span(draft, signs) for signs in members}
    # The writer that began it: the first that announced itself, else the first to log.
    members = sorted(members, key=lambda s: (s.writer not in draft.begun, spans[s.writer][0], s.writer))
    states = [_writer_state(draft, signs) for signs in members]
    return Attempt(
        number=number,
        state=RUNNING if RUNNING in states else states[0],
        started_us=min(first for first, _ in spans.values()),
        ended_us=max(last for _, last in spans.values()),
        writers=tuple(signs.writer for signs in members),
        num_rows=sum(signs.num_rows for signs in members),
    )


def _span(draft: FoldedEvents, signs: WriterSigns) -> tuple[int, int]:
    times = [signs.first_us, signs.last_us]
    for events in (draft.begun, draft.ended):
        event = events.get(signs.writer)
        times.append(None if event is None else event.time_us)
    known = [time_us for time_us in times if time_us is not None]
    return (min(known), max(known)) if known else (0, 0)


def _writer_state(draft: FoldedEvents, signs: WriterSigns) -> str:
    end = draft.ended.get(signs.writer)
    if end is not None:
        return _text(end.payload.get("state")) or "finished"
    if signs.is_dead or draft.crashed_us.get(signs.writer, -1) >= _span(draft, signs)[1]:
        return CRASHED
    return RUNNING


def _error(draft: FoldedEvents, attempts: tuple[Attempt, ...]) -> str | None:
    ends = [draft.ended.get(writer) for writer in (attempts[-1].writers if attempts else ())]
    return next((text for end in ends if end is not None and (text := _text(end.payload.get("error")))), None)


# -- payloads are other people's: nothing in them may break the fold ---------------------------------------------


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []


__all__ = ["CRASHED", "RUNNING", "UNKNOWN", "FoldedEvents", "describe", "fold", "fold_events"]
