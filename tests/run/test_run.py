"""What a training script calls, and what can be read back."""

import logging
import math
import os
import sys
import threading
import warnings

import numpy as np
import pytest

import trackio_like as trackio
from trackio_like.journal.reader import JournalTail, list_segments
from trackio_like.run import core


def history(run, *keys):
    table = trackio.Api().run(run.project, run.id).history(keys=list(keys) or None)
    return [(row["step"], row["key"], row["value"]) for row in table.to_pylist()]


def test_every_call_is_stored_in_call_order_whatever_its_step():
    run = trackio.init(project="p")
    trackio.log({"a": 1}, step=249)
    trackio.log({"a": 2}, step=203)
    trackio.log({"b": 3}, step=203)
    trackio.log({"a": 4})
    trackio.log({"a": 5}, step=-1)
    trackio.log({"a": 6})
    trackio.finish()
    assert history(run) == [
        (249, "a", 1.0),
        (203, "a", 2.0),
        (203, "b", 3.0),
        (250, "a", 4.0),
        (-1, "a", 5.0),
        (251, "a", 6.0),
    ]


def test_automatic_steps_count_calls_from_zero():
    run = trackio.init(project="p")
    for value in range(3):
        trackio.log({"a": value, "nested": {"b": value}})
    trackio.finish()
    assert [(step, key) for step, key, _ in history(run)] == [(s, k) for s in range(3) for k in ("a", "nested/b")]


def test_nan_and_infinities_are_values():
    run = trackio.init(project="p")
    trackio.log({"loss": math.nan, "acc": 0.5})
    trackio.log({"loss": math.inf, "acc": np.float32(0.25)})
    trackio.finish()
    losses = [value for _, key, value in history(run) if key == "loss"]
    assert math.isnan(losses[0])
    assert losses[1] == math.inf
    assert [value for _, key, value in history(run) if key == "acc"] == [0.5, 0.25]


def test_two_equal_calls_are_two_rows():
    run = trackio.init(project="p")
    trackio.log({"loss": math.nan}, step=3)
    trackio.log({"loss": math.nan}, step=3)
    trackio.finish()
    assert len(history(run)) == 2


def test_keys_that_look_like_columns_or_differ_by_case_are_keys_of_their_own():
    keys = {
        "step": 7,
        "time": 1.0,
        "run": 2,
        "_x": 4,
        "my value": 1,
        "my Value": 2,
        "val/AR@100": 3,
        "损失": 5,
        "a.b": 6,
    }
    run = trackio.init(project="p")
    trackio.log(keys)
    trackio.finish()
    assert {key: value for _, key, value in history(run)} == keys


def test_a_key_that_cannot_be_encoded_is_kept_with_a_mark():
    run = trackio.init(project="p")
    trackio.log({"bad\ud800": 1.0, "ok": 2.0})
    trackio.log({"ok": 3.0})
    trackio.finish()
    assert [(key, value) for _, key, value in history(run)] == [("bad?", 1.0), ("ok", 2.0), ("ok", 3.0)]


def test_text_is_kept_beside_numbers():
    run = trackio.init(project="p")
    trackio.log({"x": 1, "y": 1})
    trackio.log({"x": 1.5, "y": 2})
    with pytest.warns(trackio.TrackioLikeWarning, match=r"'x' was a number.*text 'diverged'.*step 2"):
        trackio.log({"x": "diverged", "y": True})
    trackio.finish()
    assert [value for _, key, value in history(run) if key == "y"] == [1.0, 2.0, 1.0]
    assert [value for _, key, value in history(run) if key == "x"] == [1.0, 1.5]
    (text,) = trackio.Api().run("p", run.id).texts("x")
    assert (text.step, text.payload) == (2, "diverged")


def test_a_bad_value_is_told_once_at_the_users_line():
    trackio.init(project="p")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            trackio.log({"bad": object(), "good": 1})
    assert [(w.category, os.path.basename(w.filename)) for w in told] == [
        (trackio.TrackioLikeWarning, os.path.basename(__file__))
    ]
    with pytest.warns(trackio.TrackioLikeWarning, match="'type bad' 3 times"):
        trackio.finish()


def test_log_does_not_raise_where_warnings_are_errors(caplog):
    run = trackio.init(project="p")
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        trackio.log({"bad": object(), "good": 1})
        trackio.log(3)  # type: ignore[arg-type]
    trackio.finish()
    assert "'bad'" in caplog.text
    assert "takes a dict" in caplog.text
    assert history(run) == [(0, "good", 1.0)]


def test_strict_raises_what_would_be_a_warning(monkeypatch):
    monkeypatch.setenv("TRACKIO_STRICT", "1")
    trackio.init(project="p")
    with pytest.raises(trackio.TrackioLikeError, match="'bad'"):
        trackio.log({"bad": object(), "good": 1})
    trackio.finish()


def test_a_step_that_is_no_whole_number_is_told_and_the_row_kept():
    run = trackio.init(project="p")
    with pytest.warns(trackio.TrackioLikeWarning, match=r"step=1\.5 is not a whole number"):
        trackio.log({"a": 1}, step=1.5)  # type: ignore[arg-type]
    trackio.log({"a": 2}, step=2.0)  # type: ignore[arg-type]
    trackio.log({"a": 3}, step=np.int64(7))  # type: ignore[arg-type]
    trackio.finish()
    assert history(run) == [(0, "a", 1.0), (2, "a", 2.0), (7, "a", 3.0)]


def test_the_current_run_is_seen_from_every_thread_and_no_row_is_lost():
    run = trackio.init(project="p")
    threads = [
        threading.Thread(target=lambda k: [trackio.log({f"t{k}": i}) for i in range(200)], args=(k,)) for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    trackio.finish()
    rows = history(run)
    assert sorted(step for step, *_ in rows) == list(range(800))
    for k in range(4):
        assert [value for _, key, value in rows if key == f"t{k}"] == list(range(200))


def test_several_runs_at_once_keep_apart():
    with trackio.Run("p", "one") as one, trackio.Run("p", "two") as two:
        for step in range(3):
            one.log({"a": step})
            two.log({"a": 10 + step})
    assert [v for *_, v in history(one)] == [0, 1, 2]
    assert [v for *_, v in history(two)] == [10, 11, 12]
    assert {run.name: run.state for run in trackio.Api().runs("p")} == {"one": "finished", "two": "finished"}


def test_a_new_init_finishes_the_run_before():
    first = trackio.init(project="p", name="first")
    second = trackio.init(project="p", name="second")
    assert first.is_finished
    trackio.log({"a": 1})
    trackio.finish()
    assert second.is_finished
    assert [len(history(run)) for run in (first, second)] == [0, 1]
    assert [run.state for run in trackio.Api().runs("p")] == ["finished", "finished"]


def test_an_exception_in_the_block_marks_the_run_failed():
    with pytest.raises(RuntimeError), trackio.Run("p", "bad"):
        raise RuntimeError("boom")
    assert trackio.Api().run("p", "bad").state == "failed"
    with pytest.raises(KeyboardInterrupt), trackio.Run("p", "stopped"):
        raise KeyboardInterrupt
    assert trackio.Api().run("p", "stopped").state == "cancelled"


def test_an_exception_that_cannot_be_shown_is_still_the_users_and_the_run_failed():
    class OddError(Exception):
        def __repr__(self):
            raise AttributeError("no")

    with pytest.raises(OddError), trackio.Run("p", "odd"):
        raise OddError
    assert trackio.Api().run("p", "odd").state == "failed"


def test_finish_takes_the_callers_word_and_is_idempotent():
    run = trackio.init(project="p", name="n")
    trackio.finish(state="preempted")
    run.finish()
    assert trackio.Api().run("p", "n").state == "preempted"


def test_logging_after_finish_is_told_and_kept():
    run = trackio.init(project="p")
    run.log({"a": 1})
    run.finish()
    with pytest.warns(trackio.TrackioLikeWarning, match="is finished"):
        run.log({"a": 2})
    run.finish()
    assert [v for *_, v in history(run)] == [1, 2]
    assert trackio.Api().run("p", run.id).state == "finished"


def test_logging_without_a_run_is_told_and_does_not_raise():
    with pytest.warns(trackio.TrackioLikeWarning, match="no run open"):
        trackio.log({"a": 1})
    trackio.finish()


def test_config_is_recorded_whenever_it_changes():
    run = trackio.init(project="p", config={"lr": 0.1})
    trackio.log({"a": 1})
    trackio.config.update({"late": 1})
    trackio.config["lr"] = 0.2
    trackio.config.nested = {"x": [1, None]}
    trackio.finish()
    config = trackio.Api().run("p", run.id).config
    assert {k: v for k, v in config.items() if k != "_Command"} == {"lr": 0.2, "late": 1, "nested": {"x": [1, None]}}
    assert "python" in config["_Command"]


def test_no_secret_reaches_the_disk(root):
    token = "hf_" + "x" * 34
    run = trackio.init(project="p", config={"hf_token": token, "n": {"api_key": "s3cr3t-value"}})
    assert run.config["hf_token"] == token
    trackio.config.update({"password": "s3cr3t-value"})
    trackio.log({"a": 1})
    written = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    trackio.finish()
    written += b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert token.encode() not in written
    assert b"s3cr3t-value" not in written


def test_no_secret_reaches_the_disk_in_texts_alerts_and_errors(root):
    token, url = "hf_" + "x" * 34, "https://me:s3cr3t-value@host/x"
    run = trackio.Run("p")
    run.log({"note": f"with {token}", "list": [f"see {url}"], "n": {"t": url}})
    run.alert(f"failed for {url}", f"token={token}")
    with pytest.raises(ConnectionError), run:
        raise ConnectionError(f"401 for {url}?token={token}")
    written = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert token.encode() not in written
    assert b"s3cr3t-value" not in written
    read = trackio.Api().run("p", run.id)
    assert read.texts("note")[0].payload == "with REDACTED"
    (finish,) = [event for event in read.events() if event.type == "finish"]
    assert finish.payload["error"] == "ConnectionError('401 for https://REDACTED@host/x?token=REDACTED')"


def test_projects_of_any_name_keep_apart():
    names = ["a:b", "ab", "a/b", "A B ☂", "..", "CON", "Ab"]
    for i, name in enumerate(names):
        trackio.init(project=name)
        trackio.log({"x": i})
        trackio.finish()
    api = trackio.Api()
    assert sorted(api.projects()) == sorted(names)
    for i, name in enumerate(names):
        (run,) = api.runs(name)
        assert run.history()["value"].to_pylist() == [float(i)]


def test_generated_names_are_readable_and_the_same_for_the_same_place(tmp_path):
    names = []
    for root in ("one", "two"):
        runs = [trackio.Run("p", root=tmp_path / root) for _ in range(3)]
        names.append([run.name for run in runs])
        for run in runs:
            run.finish()
    assert names[0] == names[1]
    assert len(set(names[0])) == 3
    assert [name.rsplit("-", 1)[1] for name in names[0]] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"resume": "maybe"}, "resume='maybe' is unknown; choose one of never, allow, must"),
        ({"project": ""}, "project='' is not a name"),
        ({"project": 3}, "project=3 is not a name"),
        ({"name": 3}, "name=3 is not a name"),
        ({"group": ""}, "group='' is not a name"),
        ({"tags": "baseline"}, "tags='baseline' is not a list"),
        ({"tags": [3]}, "is not a list of strings"),
    ],
)
def test_a_wrong_argument_is_refused_with_the_choices(arguments, message, root):
    with pytest.raises(ValueError, match=message):
        trackio.init(**{"project": "p", **arguments})
    assert not root.exists() or not any(root.iterdir())


def test_system_metrics_have_a_time_and_no_step():
    run = trackio.init(project="p")
    trackio.log_system({"gpu": {"0": {"temp": 60}}, "cpu": 0.5})
    with pytest.warns(trackio.TrackioLikeWarning, match="numbers only"):
        trackio.log_system({"name": "A100"})
    trackio.finish()
    rows = trackio.Api().run("p", run.id).system().to_pylist()
    assert [(row["key"], row["step"], row["value"]) for row in rows] == [("cpu", None, 0.5), ("gpu/0/temp", None, 60.0)]
    assert history(run) == []


def test_alerts_and_metric_definitions_are_recorded():
    run = trackio.init(project="p")
    trackio.define_metric("my.loss", step_metric="epoch")
    trackio.alert("loss is NaN", "at epoch 3", level="error")
    with pytest.warns(trackio.TrackioLikeWarning, match="choose one of info, warn, error|Choose one of info"):
        trackio.alert("odd", level="shout")
    trackio.finish()
    read = trackio.Api().run("p", run.id)
    assert [(alert.title, alert.level) for alert in read.alerts] == [("loss is NaN", "error"), ("odd", "warn")]
    assert [(d.name, d.step_metric) for d in read.definitions] == [("my.loss", "epoch")]


def test_a_run_with_no_metrics_is_a_run():
    run = trackio.init(project="p", config={"a": 1})
    trackio.finish()
    assert trackio.Api().run("p", run.id).config["a"] == 1


def test_nothing_is_written_outside_the_root(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.chdir(tmp_path)
    run = trackio.init(project="../../esc", name="../x", id="../../run")
    trackio.log({"../../k": 1, "/abs": 2})
    trackio.finish()
    assert {path.name for path in tmp_path.iterdir()} <= {"root", "tmp"}
    assert history(run) == [(0, "../../k", 1.0), (0, "/abs", 2.0)]


def test_open_files_and_threads_do_not_grow_with_the_number_of_runs(tmp_path):
    def descriptors():
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    trackio.init(project="p", root=tmp_path / "warm")
    trackio.finish()
    before, threads = descriptors(), threading.active_count()
    for i in range(50):
        trackio.init(project="p", name=str(i), root=tmp_path / f"r{i % 2}")
        trackio.log({"a": 1})
        trackio.finish()
    assert descriptors() <= before + 1
    assert threading.active_count() <= threads


def test_a_row_is_in_the_journal_when_log_returned(root):
    run = trackio.init(project="p")
    trackio.log({"a": 1.0})
    folder = root / "p" / run.id / "journal"
    (name,) = list_segments(folder)
    chunk = JournalTail(folder / str(name)).read()
    assert chunk is not None
    assert chunk.scalars[0].values == [[1.0]]
    trackio.finish()


def test_a_dict_that_another_thread_changes_while_it_is_logged_costs_no_row_and_moves_no_value():
    for change in ("add", "remove", "both"):
        for moment in range(1000):
            metrics = {"a": 1.0, "b": 2.0, "c": 3.0}
            reached = -1

            def look(frame, event, _, metrics=metrics, moment=moment, change=change):
                nonlocal reached
                if event in ("call", "c_return") and frame.f_code.co_filename == core.__file__:
                    reached += 1
                    if reached == moment:
                        sys.setprofile(None)
                        if change != "add":
                            del metrics["a"]
                        if change != "remove":
                            metrics["d"] = 4.0

            with trackio.Run("p") as run:
                sys.setprofile(look)
                run.log(metrics)
                sys.setprofile(None)
            found = {key: value for _, key, value in history(run)}
            assert found.items() <= {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}.items()
            assert found.keys() >= {"b", "c"}
            if reached < moment:
                break


def test_a_warning_that_cannot_be_shown_does_not_end_training(monkeypatch):
    run = trackio.init(project="p")
    with open(os.devnull, "w") as closed, warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda *_, **__: closed.write("x"))
        closed.close()
        trackio.log({"bad": object(), "good": 1})
        trackio.log(3)  # type: ignore[arg-type]
    trackio.finish()
    assert history(run) == [(0, "good", 1.0)]


def test_half_a_surrogate_in_a_name_a_title_or_an_error_costs_only_itself():
    run = trackio.Run("p", "n\ud800", group="g\udcff", tags=["t\ud800"], config={"k\ud800": "v\ud800"})
    run.alert("title \ud800")
    run.rename("m\ud800")
    run.finish("failed", error="error \udcff")
    read = trackio.Api().run("p", run.id)
    assert (read.name, read.group, read.tags, read.state) == ("m?", "g?", ("t?",), "failed")
    assert read.config["k?"] == "v?"
    assert [alert.title for alert in read.alerts] == ["title ?"]
    assert [event.payload["error"] for event in read.events() if event.type == "finish"] == ["error ?"]


@pytest.mark.parametrize("argument", ["project", "id"])
def test_half_a_surrogate_in_what_names_a_folder_is_refused_with_its_name(argument):
    with pytest.raises(ValueError, match=rf"{argument}=.*cannot be stored as UTF-8"):
        trackio.Run(**{"project": "p", argument: "x\ud800"})
