"""What is fetched and deleted in which order: never are fewer rows visible than before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trackio_like.format.names import ShardName
from trackio_like.hub.listing import RemoteFile
from trackio_like.store.mirror.paths import parse_path
from trackio_like.store.mirror.plan import Wanted, in_order, plan_folder

FOLDER = "p/r/metrics"


def wanted(path, *, num_bytes=10, uploaded=""):
    place = parse_path(path)
    assert place is not None
    file = RemoteFile(path=path, num_bytes=num_bytes, content_hash="h", uploaded=uploaded)
    return Wanted(file=file, place=place)


def shards(*spans):
    return [wanted(f"{FOLDER}/w-{first}-{last}.parquet") for first, last in spans]


def names(plan):
    return [item.place.name for item in plan.fetch]


def test_what_is_lacking_is_fetched_in_the_order_of_the_rows():
    assert names(plan_folder(shards((9, 10), (1, 8), (11, 100)), have=set())) == [
        "w-1-8.parquet",
        "w-9-10.parquet",
        "w-11-100.parquet",
    ]


def test_a_covered_shard_is_not_fetched():
    plan = plan_folder(shards((1, 1), (2, 2), (1, 2)), have=set())
    assert (names(plan), plan.num_files, plan.num_bytes) == (["w-1-2.parquet"], 1, 10)


def test_a_covered_shard_is_deleted_once_the_larger_one_is_here_and_not_before():
    all_three = shards((1, 1), (2, 2), (1, 2))
    small = {"w-1-1.parquet", "w-2-2.parquet"}
    assert plan_folder(all_three, have=small).delete == []
    assert plan_folder(all_three, have=small | {"w-1-2.parquet"}).delete == sorted(small)


def test_what_the_source_no_longer_has_is_deleted():
    assert plan_folder([], have={"w-1-1.parquet"}).delete == ["w-1-1.parquet"]


def test_what_the_source_no_longer_has_stays_while_its_rows_are_still_to_come():
    assert plan_folder(shards((1, 5)), have={"w-1-1.parquet"}).delete == []
    assert plan_folder(shards((2, 5)), have={"w-1-1.parquet"}).delete == ["w-1-1.parquet"]


def test_what_only_one_listing_lacked_stays_for_now():
    plan = plan_folder([], have={"w-1-1.parquet"}, doubtful={"w-1-1.parquet"})
    assert (plan.delete, plan.has_doubtful) == ([], True)


def test_a_damaged_shard_is_replaced_by_the_smaller_ones_and_takes_nothing_away():
    all_three = shards((1, 1), (2, 2), (1, 2))
    assert names(plan_folder(all_three, have=set(), skipped={"w-1-2.parquet"})) == ["w-1-1.parquet", "w-2-2.parquet"]
    only_damaged = plan_folder(shards((1, 2)), have={"w-1-1.parquet"}, skipped={"w-1-2.parquet"})
    assert (only_damaged.fetch, only_damaged.delete) == ([], [])


def test_the_newest_run_comes_first_names_before_curves_and_media_last():
    items = [
        wanted("p/old/events/w-1-1.parquet", uploaded="2026-01-01"),
        wanted("p/new/metrics/w-1-1.parquet", uploaded="2026-02-02"),
        wanted("p/new/media/images/a.png", uploaded="2026-02-03"),
        wanted("p/new/events/w-1-1.parquet", uploaded="2026-02-01"),
        wanted("p/new/system/w-1-1.parquet", uploaded="2026-02-01"),
    ]
    plans = {item.place.folder: plan_folder([item], have=set()) for item in items}
    assert [item.file.path for item in in_order(plans)] == [
        "p/new/events/w-1-1.parquet",
        "p/new/metrics/w-1-1.parquet",
        "p/new/system/w-1-1.parquet",
        "p/old/events/w-1-1.parquet",
        "p/new/media/images/a.png",
    ]


class World:
    """A source that seals, compacts and cleans up, and a mirror of it, as sets of (first, last)."""

    def __init__(self):
        self.source, self.here = set(), set()
        self.num_rows = 0

    def seal(self, num):
        self.source.add((self.num_rows + 1, self.num_rows + num))
        self.num_rows += num

    def compact(self, start, stop):
        chosen = sorted(self.source)[start : start + stop]
        if len(chosen) > 1:
            self.source.add((chosen[0][0], max(last for _, last in chosen)))

    def clean_up(self):
        self.source = {s for s in self.source if not any(o != s and o[0] <= s[0] and s[1] <= o[1] for o in self.source)}

    def rows_here(self):
        return {row for first, last in self.here for row in range(first, last + 1)}

    def copy(self, num_fetched):
        """A round that ends after some files."""
        for item in self._plan().fetch[:num_fetched]:
            self.here.add((item.place.shard.first, item.place.shard.last))
        for name in self._plan().delete:
            found = ShardName.parse(name)
            self.here.remove((found.first, found.last))

    def _plan(self):
        return plan_folder(shards(*self.source), have={f"w-{first}-{last}.parquet" for first, last in self.here})


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("seal"), st.integers(1, 3)),
        st.tuples(st.just("compact"), st.integers(0, 8), st.integers(2, 5)),
        st.tuples(st.just("clean_up")),
        st.tuples(st.just("copy"), st.integers(0, 6)),
    ),
    max_size=25,
)


@given(STEPS)
def test_however_the_source_changes_no_row_ever_goes_and_all_come_in_the_end(steps):
    world = World()
    seen = set()
    for name, *arguments in steps:
        getattr(world, name)(*arguments)
        assert seen <= world.rows_here()
        seen = world.rows_here()
    world.copy(len(world.source))
    assert world.rows_here() == set(range(1, world.num_rows + 1))
    world.clean_up()
    world.copy(0)
    assert world.here == world.source
