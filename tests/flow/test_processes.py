"""Forked, spawned, ranked and parallel processes: every row once, and none that hangs."""

import os

import pytest

import trackio_like as trackio
from tests.flow.conftest import only_run
from trackio_like._launch import Launch
from trackio_like._settings import Rank, Settings


def values(run, key=None):
    return [row["value"] for row in run.history(keys=None if key is None else [key]).to_pylist()]


def test_a_forked_child_writes_under_a_writer_of_its_own(run_script):
    code, *_ = run_script(
        """
        import os
        trackio.init(project="p")
        trackio.log({"who": 0})
        if os.fork() == 0:
            trackio.log({"who": 1})
            os._exit(0)
        os.wait()
        trackio.log({"who": 2})
        trackio.finish()
        """
    )
    assert code == 0
    run = only_run()
    assert sorted(values(run)) == [0, 1, 2]
    assert len({row["writer"] for row in run.history().to_pylist()}) == 2
    assert run.state == "finished"


def test_a_forked_child_that_does_not_log_writes_nothing(run_script, root):
    run_script(
        """
        import os
        trackio.init(project="p")
        trackio.log({"a": 0})
        if os.fork() == 0:
            raise SystemExit
        os.wait()
        trackio.log({"a": 1})
        """
    )
    assert values(only_run()) == [0, 1]
    assert only_run().state == "finished"
    assert len({event.writer for event in only_run().events()}) == 1


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_that_used_the_tracker_ends_and_its_row_is_there(run_script, method):
    code, output, errors = run_script(
        """
        import multiprocessing as mp, sys
        def work():
            trackio.init(project="p", name="worker")
            trackio.log({"a": 1})
        if __name__ == "__main__":
            process = mp.get_context(sys.argv[1]).Process(target=work)
            process.start()
            process.join(30)
            print(process.exitcode)
        """,
        method,
    )
    assert (code, output, errors) == (0, "0\n", "")
    assert values(trackio.Api().run("p", "worker")) == [1]
    assert trackio.Api().run("p", "worker").state == "finished"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_an_exception_in_a_worker_is_its_own_and_the_run_failed(run_script, method):
    code, output, errors = run_script(
        """
        import multiprocessing as mp, sys
        def work():
            trackio.init(project="p", name="worker")
            raise ValueError("boom")
        if __name__ == "__main__":
            process = mp.get_context(sys.argv[1]).Process(target=work)
            process.start()
            process.join(30)
            print(process.exitcode)
        """,
        method,
    )
    assert (code, output) == (0, "1\n")
    assert "ValueError: boom" in errors
    assert trackio.Api().run("p", "worker").state == "failed"


WORKER = """
    import sys
    trackio.init(project="p", name=sys.argv[2] if len(sys.argv) > 2 else None)
    for i in range(200):
        trackio.log({"w": int(sys.argv[1]) * 1000 + i})
    trackio.finish()
"""


def test_eight_processes_in_one_run_lose_and_double_nothing(script, daemon):
    environment = {**os.environ, "TRACKIO_RUN_ID": "shared"}
    processes = [script(WORKER, k, env=environment) for k in range(8)]
    for process in processes:
        _, errors = process.communicate(timeout=50)
        assert (process.returncode, errors) == (0, "")
    run = only_run()
    assert run.id == "shared"
    assert sorted(values(run)) == sorted(float(k * 1000 + i) for k in range(8) for i in range(200))
    assert run.state == "finished"


def test_eight_processes_in_one_project_are_eight_runs(script, daemon):
    processes = [script(WORKER, k, f"run{k}") for k in range(8)]
    for process in processes:
        _, errors = process.communicate(timeout=50)
        assert (process.returncode, errors) == (0, "")
    runs = trackio.Api().runs("p")
    assert len(runs) == 8
    for run in runs:
        k = int(run.name[3:])
        assert values(run) == [float(k * 1000 + i) for i in range(200)]


RANK = """
    import os
    run = trackio.init(project="p", name="ddp")
    trackio.log({"loss": float(os.environ["RANK"])})
    trackio.log_system({"gpu": float(os.environ["RANK"])})
    trackio.finish()
"""


def ranked(rank, size=4, **more):
    return {
        **os.environ,
        "RANK": str(rank),
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "29500",
        **more,
    }


def test_the_ranks_of_a_job_are_one_run_whose_rank_0_logs_the_metrics(script):
    processes = [script(RANK, env=ranked(rank)) for rank in range(4)]
    errors = [process.communicate(timeout=50)[1] for process in processes]
    run = only_run()
    assert (run.name, values(run)) == ("ddp", [0.0])
    assert sorted(run.system()["value"].to_pylist()) == [0.0, 1.0, 2.0, 3.0]
    assert errors[0] == ""
    assert all("is not rank 0" in text for text in errors[1:])


def test_all_ranks_log_when_asked_to(script):
    text = RANK.replace('name="ddp"', 'name="ddp", all_ranks=True')
    processes = [script(text, env=ranked(rank)) for rank in range(3)]
    assert [process.communicate(timeout=50)[1] for process in processes] == [""] * 3
    assert sorted(values(only_run())) == [0.0, 1.0, 2.0]


def test_a_second_launch_is_a_second_run(script):
    for job in ("1", "2"):
        for process in [script(RANK, env=ranked(rank, size=2, SLURM_JOB_ID=job)) for rank in range(2)]:
            process.communicate(timeout=50)
    assert [values(run) for run in trackio.Api().runs("p")] == [[0.0], [0.0]]


def test_joining_by_id_while_the_run_is_alive_adds_a_writer_and_no_attempt(script):
    first = script(
        "import sys\ntrackio.init(project='p', id='x')\ntrackio.log({'a': 0})\nprint(1, flush=True)\nsys.stdin.read()",
        stdin=-1,
    )
    first.stdout.readline()
    run = trackio.init(project="p", id="x", resume="allow")
    trackio.log({"a": 1})
    trackio.finish()
    assert run.attempt == 1
    assert only_run().state == "running"
    first.stdin.close()
    first.wait()
    assert sorted(values(only_run())) == [0, 1]
    assert len(only_run().attempts) == 1
    assert only_run().state == "finished"


WAITING = """
    import sys
    trackio.init(project="p", name="ddp", group="g", tags=["t"], config={"lr": 1})
    trackio.log_system({"gpu": 1})
    print("up", flush=True)
    sys.stdin.read()
    trackio.finish()
"""


def test_the_run_has_its_name_also_where_rank_0_is_the_last_to_come(script):
    processes = []
    for rank in (2, 1, 0):
        processes.append(script(WAITING, env=ranked(rank, size=3), stdin=-1))
        assert processes[-1].stdout.readline() == "up\n"
    for process in processes:
        process.stdin.close()
        assert process.wait() == 0
    run = only_run()
    assert (run.name, run.group, run.tags, run.config["lr"], run.state) == ("ddp", "g", ("t",), 1, "finished")
    assert [attempt.number for attempt in run.attempts] == [1]
    assert [event.type for event in run.events()].count("init") == 1


@pytest.mark.parametrize("arguments", [{"name": "n"}, {"name": None}])
def test_ranks_that_begin_a_run_to_be_resumed_at_the_same_moment_begin_one(root, arguments):
    ids = set()
    for rank in range(3):
        launch = Launch(Settings(root=root), "p", Rank(rank=rank, world_size=3, launch="job"), 1)
        launch.find(run_id=None, resume="allow", **arguments)
        ids.add(launch.folder.run_id)
    assert len(ids) == 1


def test_a_forked_child_that_begins_its_own_run_leaves_the_parents_alone(run_script):
    run_script(
        """
        import os
        trackio.init(project="p", name="parent")
        trackio.log({"who": 0})
        if os.fork() == 0:
            trackio.init(project="p", name="child")
            trackio.log({"who": 1})
            raise SystemExit
        os.wait()
        trackio.log({"who": 2})
        """
    )
    runs = {run.name: run for run in trackio.Api().runs("p")}
    assert {name: values(run) for name, run in runs.items()} == {"parent": [0, 2], "child": [1]}
    assert [len({event.writer for event in run.events()}) for run in runs.values()] == [1, 1]


def test_a_run_of_a_given_id_that_was_killed_goes_on_in_a_new_attempt(script):
    for ending in ("kill", "end"):
        process = script(WAITING, env={**os.environ, "TRACKIO_RUN_ID": "x"}, stdin=-1)
        process.stdout.readline()
        if ending == "kill":
            process.kill()
        process.stdin.close()
        process.wait()
    assert ([attempt.number for attempt in only_run().attempts], only_run().state) == ([1, 2], "finished")
