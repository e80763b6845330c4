"""Which run a call of `init` begins, resumes or leaves alone."""

import pytest

import trackio_like as trackio


def test_resume_must_goes_on_with_the_newest_run_of_the_name():
    first = trackio.init(project="p", name="n", config={"lr": 1, "keep": 2}, group="g", tags=["t"])
    trackio.log({"a": 1}, step=0)
    trackio.log({"a": 2}, step=7)
    trackio.finish()
    again = trackio.init(project="p", name="n", resume="must", config={"lr": 3})
    assert (again.id, again.attempt, again.step, again.group, again.tags) == (first.id, 2, 8, "g", ("t",))
    trackio.log({"a": 3})
    trackio.finish()
    run = trackio.Api().run("p", "n")
    assert [(r["attempt"], r["step"], r["value"]) for r in run.history().to_pylist()] == [
        (1, 0, 1),
        (1, 7, 2),
        (2, 8, 3),
    ]
    assert {k: v for k, v in run.config.items() if k != "_Command"} == {"lr": 3, "keep": 2}
    assert [attempt.number for attempt in run.attempts] == [1, 2]
    assert run.num_rows == 3


def test_a_restart_from_a_checkpoint_keeps_old_rows_and_draws_the_newest_attempt():
    run = trackio.init(project="p", name="n")
    for step in range(5):
        trackio.log({"a": step}, step=step)
    trackio.finish()
    trackio.init(project="p", id=run.id, resume="must")
    for step in range(2, 4):
        trackio.log({"a": 10 + step}, step=step)
    trackio.finish()
    read = trackio.Api().run("p", "n")
    assert read.history().num_rows == 7
    assert [float(v) for v in read.series("a")[1]] == [0, 1, 12, 13]


@pytest.mark.parametrize("how", ["name", "id"])
def test_resuming_the_run_that_is_open_finishes_it_first_and_goes_on(how):
    first = trackio.init(project="p", name="n", id="i")
    trackio.log({"a": 1})
    with pytest.raises(ValueError, match="tags"):
        trackio.init(project="p", resume="must", tags="x", **{how: getattr(first, how)})
    assert not first.is_finished
    again = trackio.init(project="p", resume="must", tags=iter(["t"]), **{how: getattr(first, how)})
    assert (again.attempt, again.step, again.tags) == (2, 1, ("t",))
    trackio.log({"a": 2})
    trackio.finish()
    assert [(row["attempt"], row["step"]) for row in trackio.Api().run("p", "i").history().to_pylist()] == [
        (1, 0),
        (2, 1),
    ]


def test_resume_must_says_what_it_did_not_find():
    with pytest.raises(ValueError, match=r"no run with name 'n' in project 'p'.*resume=\"allow\""):
        trackio.init(project="p", name="n", resume="must")
    with pytest.raises(ValueError, match="name or the id"):
        trackio.init(project="p", resume="must")


def test_resume_allow_begins_a_run_where_there_is_none():
    first = trackio.init(project="p", name="n", resume="allow")
    trackio.finish()
    assert trackio.init(project="p", name="n", resume="allow").id == first.id
    trackio.finish()
    assert trackio.init(project="p", id="chosen", resume="allow").id == "chosen"
    trackio.finish()
    assert {run.id for run in trackio.Api().runs("p")} == {first.id, "chosen"}


def test_one_name_twice_is_two_runs():
    ids = set()
    for _ in range(2):
        ids.add(trackio.init(project="p", name="debug").id)
        trackio.finish()
    assert len(ids) == 2
    assert [run.name for run in trackio.Api().runs("p")] == ["debug", "debug"]


def test_an_id_that_is_taken_is_left_alone_and_told():
    trackio.init(project="p", id="x", config={"lr": 1})
    trackio.log({"a": 1})
    trackio.finish()
    with pytest.warns(trackio.TrackioLikeWarning, match="id 'x' is in project 'p' already"):
        other = trackio.init(project="p", id="x", config={"lr": 2})
    trackio.log({"a": 2})
    trackio.finish()
    assert other.id != "x"
    kept = trackio.Api().run("p", "x")
    assert (kept.config["lr"], kept.history()["value"].to_pylist()) == (1, [1.0])
