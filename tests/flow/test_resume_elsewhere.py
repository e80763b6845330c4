"""A run goes on on a machine that has never seen it: a spot instance with an empty disk."""

from __future__ import annotations

import pytest

import trackio_like as trackio

TARGETS = pytest.mark.parametrize(
    "target", [{"bucket_id": "me/rows"}, {"dataset_id": "me/set"}], ids=["bucket", "dataset"]
)


@pytest.fixture
def first(hub, tmp_path, request):
    """A run of another machine, that was sent and whose disk is gone."""
    target = request.getfixturevalue("target")
    with trackio.init(project="p", name="long", config={"lr": 0.1}, root=tmp_path / "gone", **target) as run:
        for step in range(5):
            run.log({"loss": float(step)}, step=step)
    trackio.sync(root=tmp_path / "gone", **target)
    return run


@TARGETS
def test_a_run_is_resumed_from_where_it_was_sent_by_its_id_or_name(hub, first, target, tmp_path):
    for number, wanted in enumerate([{"id": first.id}, {"name": "long"}]):
        root = tmp_path / f"new {number}"
        with trackio.init(project="p", resume="must", root=root, **wanted, **target) as run:
            assert (run.id, run.attempt, run.step, run.config["lr"]) == (first.id, 2, 5, 0.1)


@pytest.mark.parametrize("target", [{"bucket_id": "me/rows"}], ids=["bucket"])
def test_rows_of_both_machines_are_one_run(hub, first, target, tmp_path):
    with trackio.init(project="p", id=first.id, resume="must", root=tmp_path / "new", **target) as run:
        run.log({"loss": 5.0})
    trackio.sync(root=tmp_path / "new", **target)
    with trackio.Api(**target) as api:
        rows = api.run("p", first.id).history("loss")
    assert rows["step"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert rows["attempt"].to_pylist() == [1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize("target", [{"bucket_id": "me/rows"}], ids=["bucket"])
def test_a_run_that_is_nowhere_is_an_error_or_begun(hub, first, target, tmp_path):
    with pytest.raises(ValueError, match="There is no run with id 'other'"):
        trackio.init(project="p", id="other", resume="must", root=tmp_path / "new", **target)
    with trackio.init(project="p", id="other", resume="allow", root=tmp_path / "new", **target) as run:
        assert (run.id, run.attempt) == ("other", 1)


@pytest.mark.parametrize("target", [{"bucket_id": "me/rows"}], ids=["bucket"])
def test_a_hub_that_refuses_is_named_where_a_run_must_be_resumed(hub, first, target, tmp_path):
    hub.fail("/api/buckets/", kind="status", status=503, times=9)
    with pytest.raises(ValueError, match="503"):
        trackio.init(project="p", id=first.id, resume="must", root=tmp_path / "new", **target)
