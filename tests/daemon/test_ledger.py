"""What the ledger remembers, whoever writes to it and wherever it is cut."""

from hypothesis import given
from hypothesis import strategies as st

from trackio_like.daemon.ledger import Ledger, run_of


def fresh(path):
    ledger = Ledger(path)
    ledger.refresh()
    return ledger


def held(ledger):
    return {path: stored.num_bytes for path, stored in ledger.paths()}


def test_what_was_noted_is_known_to_a_new_reader(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.note_made(5.0)
    ledger.note(stored={"p/r/metrics/a-1-2.parquet": 10, "README.md": 3}, now_s=7.5)
    ledger.note(lost=["README.md"], rejected={"p/r/media/x": "too large"}, now_s=8.0)
    again = fresh(tmp_path / "ledger")
    assert held(again) == {"p/r/metrics/a-1-2.parquet": 10}
    assert again.run("p/r")["p/r/metrics/a-1-2.parquet"].stored_s == 7.5
    assert again.rejected("p/r") == {"p/r/media/x": "too large"}
    assert again.made_s == 5.0
    assert again.compared_s is None
    assert len(again) == 1


def test_a_ledger_that_is_not_there_knows_nothing(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    assert not ledger.refresh()
    assert held(ledger) == {}
    assert ledger.made_s is None


def test_a_reader_sees_what_another_process_appends_and_that_the_file_was_deleted(tmp_path):
    ours, theirs = Ledger(tmp_path / "ledger"), Ledger(tmp_path / "ledger")
    ours.note(stored={"p/r/a": 1}, now_s=1.0)
    assert theirs.refresh()
    theirs.note(stored={"p/r/b": 2}, now_s=2.0)
    assert ours.refresh()
    assert not ours.refresh()
    assert held(ours) == held(theirs) == {"p/r/a": 1, "p/r/b": 2}
    (tmp_path / "ledger").unlink()
    assert ours.refresh()
    assert held(ours) == {}


@given(cut=st.integers(min_value=0, max_value=400))
def test_a_file_cut_anywhere_loses_its_end_alone_and_takes_more(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("ledger") / "ledger"
    ledger = Ledger(path)
    for i in range(5):
        ledger.note(stored={f"p/r/{i}": i}, now_s=float(i))
    text = path.read_bytes()
    path.write_bytes(text[:cut])
    num_whole = max(0, text[:cut].count(b"\n") - 1)
    torn = fresh(path)
    assert held(torn) == {f"p/r/{i}": i for i in range(num_whole)}
    torn.note(stored={"p/r/new": 9}, now_s=9.0)
    # A line that lacks nothing but its end is whole again once the next one begins on a line of its own.
    num_whole += cut > text.index(b"\n") and text[cut : cut + 1] == b"\n"
    assert held(fresh(path)) == {f"p/r/{i}": i for i in range(num_whole)} | {"p/r/new": 9}


def test_a_damaged_line_is_skipped(tmp_path):
    path = tmp_path / "ledger"
    Ledger(path).note(stored={"p/r/a": 1, "p/r/b": 2}, now_s=1.0)
    path.write_bytes(path.read_bytes().replace(b"p/r/a", b"p/r/x"))
    assert held(fresh(path)) == {"p/r/b": 2}


def test_a_long_file_is_written_anew_and_readers_follow(tmp_path):
    path = tmp_path / "ledger"
    ledger, reader = Ledger(path), Ledger(path)
    ledger.note_made(1.0)
    ledger.note(stored={"p/r/kept": 1}, now_s=2.0)
    reader.refresh()
    for i in range(600):
        ledger.note(stored={"p/r/passing": i}, now_s=3.0)
        ledger.note(lost=["p/r/passing"], now_s=3.0)
    assert len(path.read_bytes().splitlines()) < 1100
    reader.refresh()
    assert held(reader) == held(ledger) == {"p/r/kept": 1}
    assert reader.run("p/r")["p/r/kept"].stored_s == 2.0
    assert reader.made_s == 1.0


def test_a_comparison_takes_the_listing_for_the_truth_and_keeps_when_a_file_was_first_seen(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.note(stored={"p/r/kept": 1, "p/r/other size": 2, "p/r/gone": 3}, now_s=1.0)
    ledger.note(rejected={"p/r/bad": "why"}, now_s=1.0)
    assert ledger.compare([("p/r/kept", 1), ("p/r/other size", 5), ("q/s/found", 7)], now_s=9.0) == (1, 1)
    again = fresh(tmp_path / "ledger")
    assert held(again) == {"p/r/kept": 1, "p/r/other size": 5, "q/s/found": 7}
    assert again.run("p/r")["p/r/kept"].stored_s == 1.0
    assert again.run("p/r")["p/r/other size"].stored_s == 9.0
    assert again.run("q/s")["q/s/found"].stored_s == 9.0
    assert again.compared_s == 9.0
    assert again.rejected("p/r") == {"p/r/bad": "why"}


def test_what_was_set_aside_is_tried_again_when_asked(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.note(rejected={"p/r/a": "why", "p/s/b": "why"}, now_s=1.0)
    assert ledger.num_rejected == 2
    ledger.try_rejected_again()
    assert fresh(tmp_path / "ledger").num_rejected == 0


@given(st.text(st.characters(exclude_categories=()), min_size=1))
def test_any_name_can_be_remembered(tmp_path_factory, name):
    path = tmp_path_factory.mktemp("ledger") / "ledger"
    Ledger(path).note(stored={f"p/r/media/{name}": 1}, now_s=1.0)
    assert held(fresh(path)) == {f"p/r/media/{name}": 1}


def test_a_path_belongs_to_the_run_of_its_first_two_folders():
    assert run_of("p/r/media/3/x.png") == "p/r"
    assert run_of("README.md") == run_of("p/x") == ""
