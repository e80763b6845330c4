"""What to fetch and what to delete in one folder of a mirror: pure, so every case is a unit test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from trackio_like.format.names import ShardName
from trackio_like.hub.listing import RemoteFile
from trackio_like.shards.plan import covered_by_others
from trackio_like.store.mirror.paths import MEDIA, Place

_FIRST_KINDS: Final = {"events": 0, "metrics": 1, "objects": 2, "system": 3}
"""A page shows names first, then curves."""
_LAST: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A file that a mirror is to hold."""

    file: RemoteFile
    place: Place


@dataclass(slots=True, kw_only=True)
class FolderPlan:
    """What to do in one folder."""

    fetch: list[Wanted] = field(default_factory=list)
    """In the order of the rows."""
    delete: list[str] = field(default_factory=list)
    """File names."""
    num_files: int = 0
    """How many files the folder has once everything is fetched."""
    num_bytes: int = 0
    has_doubtful: bool = False
    """Whether a file is kept that only one listing lacked."""


def plan_folder(
    wanted: Iterable[Wanted], *, have: Set[str], skipped: Set[str] = frozenset(), doubtful: Set[str] = frozenset()
) -> FolderPlan:
    """What one folder lacks, and what it has too much.

    A shard that a larger one covers is neither fetched nor kept, once the larger one is here. What goes at the source
    is deleted only when nothing that is still to come, or is damaged, may hold its rows: never are fewer rows visible
    than before.

    Args:
        wanted: what the source has in this folder.
        have: names of the whole files that lie there.
        skipped: names of files that turned out to be damaged: as if the source did not have them.
        doubtful: names that the source seems to lack, but that are not to be deleted yet.
    """
    by_name = {item.place.name: item for item in wanted}
    damaged = [by_name.pop(name) for name in sorted(skipped & by_name.keys())]
    shards = {item.place.shard: name for name, item in by_name.items() if item.place.shard is not None}
    covered = {shards[shard] for shard in covered_by_others(shards)}
    kept = [item for name, item in by_name.items() if name not in covered]
    kept.sort(key=lambda item: (item.place.shard is None, item.place.shard or ShardName(writer="", first=1, last=1)))
    plan = FolderPlan(
        fetch=[item for item in kept if item.place.name not in have],
        num_files=len(kept),
        num_bytes=sum(item.file.num_bytes for item in kept),
    )
    # A damaged shard may hold what only the smaller ones here still tell.
    pending = [item.place.shard for item in (*plan.fetch, *damaged) if item.place.shard is not None]
    for name in sorted(have - {item.place.name for item in kept}):
        if name in doubtful:
            plan.has_doubtful = True
        elif not _is_awaited(name, pending):
            plan.delete.append(name)
    return plan


def _is_awaited(name: str, pending: list[ShardName]) -> bool:
    """Whether rows of this shard may be in one that is still to come."""
    own = ShardName.parse(name)
    if own is None:
        return False
    return any(other.writer == own.writer and other.first <= own.last and own.first <= other.last for other in pending)


def in_order(plans: Mapping[str, FolderPlan]) -> list[Wanted]:
    """What all folders lack, in the order in which it is useful.

    Shards before media; the run that got something last before older ones; names before curves before the rest; and
    within a folder in the order of the rows, so that a reader never has to go back.

    Args:
        plans: by folder.
    """
    newest: dict[str, str] = {}
    for plan in plans.values():
        for item in plan.fetch:
            newest[item.place.run] = max(newest.get(item.place.run, ""), item.file.uploaded)
    # Two stable sorts, for a text cannot be negated.
    folders = sorted((folder for folder, plan in plans.items() if plan.fetch), key=_rank)
    folders.sort(key=lambda folder: newest["/".join(folder.split("/", 2)[:2])], reverse=True)
    folders.sort(key=_is_media)
    return [item for folder in folders for item in plans[folder].fetch]


def _is_media(folder: str) -> bool:
    return folder.split("/", 3)[2] == MEDIA


def _rank(folder: str) -> tuple[int, str]:
    return _FIRST_KINDS.get(folder.split("/", 3)[2], _LAST), folder


__all__ = ["FolderPlan", "Wanted", "in_order", "plan_folder"]
