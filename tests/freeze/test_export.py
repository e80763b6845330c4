"""What a freeze writes, what it leaves alone, and what it refuses to publish."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import threading
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

import trackio_like as trackio
from space_app.freeze.scan import find_tokens
from tests.store.recording import Recorded
from trackio_like._freeze import freeze
from trackio_like.cli import freeze as command
from trackio_like.errors import ProjectNotFoundError, TrackioLikeError, TrackioLikeWarning

TOKEN = "hf_" + "aB3dE5gH7j" * 3


def log_run(project="p", **config):
    with trackio.init(project=project, name="first", config=config) as run:
        for step in range(20):
            run.log({"loss": 1 / (step + 1), "tokens": 2**53 + 1 + step}, step=step)
        run.log({"note": "a text"})
    return run


def project_folder(folder, slug="p"):
    [data] = (Path(folder) / "data").iterdir()
    return data / slug


def test_the_rows_are_open_parquet_in_the_schema_of_shards(tmp_path):
    log_run()
    folder = freeze(folder=tmp_path / "frozen")
    path = project_folder(folder) / "metrics-0001.parquet"
    rows = duckdb.sql(f"SELECT step, value_int FROM '{path}' WHERE key = 'tokens' ORDER BY seq").fetchall()
    assert rows == [(step, None if step % 2 else 2**53 + 1 + step) for step in range(20)]
    names = ["project", "run_id", "writer", "seq", "attempt", "step", "time", "key", "value", "value_int"]
    assert pq.read_schema(path).names == names
    assert pq.read_table(project_folder(folder) / "objects.parquet")["key"].to_pylist() == ["note"]
    assert "init" in pq.read_table(project_folder(folder) / "events.parquet")["type"].to_pylist()


def test_rows_that_are_in_no_shard_yet_are_copied_too(root, tmp_path):
    run = Recorded(root)
    writer = run.writer()
    run.log(writer, 0, a=1.0)
    run.seal(writer)
    run.log(writer, 1, a=2.0)
    folder = freeze("p", folder=tmp_path / "frozen")
    table = pq.read_table(project_folder(folder) / "metrics-0001.parquet")
    assert table["value"].to_pylist() == [1.0, 2.0]
    writer.close()


def test_a_run_that_is_compacted_and_written_meanwhile_is_copied_whole(root, tmp_path):
    run = Recorded(root)
    writer = run.writer()
    is_over = threading.Event()

    def work():
        step = 0
        while not is_over.is_set():
            for _ in range(50):
                run.log(writer, step, a=float(step))
                step += 1
            run.seal(writer)
            run.compact(writer)
            run.drop_covered(grace_s=0.0)

    run.log(writer, -1, a=-1.0)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        for number in range(3):
            folder = freeze("p", folder=tmp_path / f"frozen-{number}")
            steps = pq.read_table(project_folder(folder) / "metrics-0001.parquet")["step"].to_pylist()
            assert steps == list(range(-1, len(steps) - 1))
    finally:
        is_over.set()
        thread.join()
        writer.close()


def test_freezing_again_replaces_all_of_it(tmp_path):
    log_run()
    folder = Path(freeze(folder=tmp_path / "frozen"))
    before = project_folder(folder)
    (folder / "left over").touch()
    log_run(project="q")
    assert freeze("q", folder=folder) == str(folder)
    assert not before.exists()
    assert not (folder / "left over").exists()
    assert project_folder(folder, "q").is_dir()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "hf") == ["frozen", "root"]


@pytest.mark.parametrize("there", ["notes.txt", "trackio_like.json"])
def test_a_folder_of_somebody_else_is_never_touched(tmp_path, there):
    log_run()
    target = tmp_path / "mine"
    target.mkdir()
    (target / there).write_text('{"app": "trackio_like"}')
    with pytest.raises(FileExistsError, match="not a frozen dashboard"):
        freeze(folder=target)
    assert [path.name for path in target.iterdir()] == [there]
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "hf") == ["mine", "root"]


def test_a_file_in_the_place_of_the_folder_stays(tmp_path):
    log_run()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileExistsError):
        freeze(folder=tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_an_empty_folder_and_a_folder_below_missing_ones_are_fine(tmp_path):
    log_run()
    (tmp_path / "empty").mkdir()
    for target in (tmp_path / "empty", tmp_path / "a" / "b"):
        freeze(folder=target)
        assert (target / "index.html").is_file()


def put_token(run, where):
    writer = run.writer()
    if where == "event":
        writer.event("config", {"values": {"hub": TOKEN}})
    elif where == "key":
        run.log(writer, 0, **{TOKEN: 1.0})
    elif where == "text":
        writer.mixed(0, (), [], [("note", "text", f"see {TOKEN}", None)])
    else:
        writer.mixed(0, (), [], [("page", "html", {}, "media/0/page.html")])
        file = run.folder.path / "media" / "0" / "page.html"
        file.parent.mkdir(parents=True)
        file.write_text(f"<b>{TOKEN}</b>")
    writer.close()


@pytest.mark.parametrize("where", ["event", "key", "text", "media"])
def test_nothing_is_published_where_a_token_stands_in_it(root, tmp_path, where):
    run = Recorded(root)
    writer = run.writer()
    run.log(writer, 0, a=1.0)
    writer.close()
    put_token(run, where)
    with pytest.raises(TrackioLikeError, match="shape of a token") as caught:
        freeze(folder=tmp_path / "frozen")
    assert TOKEN not in str(caught.value)
    assert not (tmp_path / "frozen").exists()


def test_tokens_are_found_across_blocks_and_in_compressed_columns(tmp_path):
    (tmp_path / "large.bin").write_bytes(b"x" * ((1 << 20) - 10) + TOKEN.encode() + b"x" * 100)
    (tmp_path / "own.txt").write_text("a token without a shape: 0123456789")
    (tmp_path / "fine.txt").write_text("hf_short and sk-ip")
    duckdb.sql(f"COPY (SELECT '{TOKEN}' AS a, 1 AS b) TO '{tmp_path}/rows.parquet' (COMPRESSION zstd)")
    assert find_tokens(tmp_path, own=["0123456789"]) == ["large.bin", "own.txt", "rows.parquet"]


def test_nothing_of_this_machine_stands_in_the_page_or_the_data(root, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    run = Recorded(root)
    writer = run.writer()
    run.log(writer, 0, a=1.0)
    writer.close()
    folder = Path(freeze(folder=tmp_path / "frozen"))
    secrets = [str(tmp_path), str(Path.home()) + "/", TOKEN, os.getcwd(), f"/{getpass.getuser()}/"]
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert [secret for secret in secrets if secret.encode() in content] == [], path.name


def test_media_files_come_along_and_nothing_from_outside_does(root, tmp_path):
    run = Recorded(root)
    writer = run.writer()
    names = [
        "media/0/good.png",
        "media/0/link.png",
        "media/../../../secret",
        "journal/x",
        "/etc/hostname",
        "media/0/gone.png",
    ]
    for step, name in enumerate(names):
        writer.mixed(step, (), [], [("picture", "image", {}, name)])
    writer.close()
    (tmp_path / "secret").write_text("secret")
    place = run.folder.path / "media" / "0"
    place.mkdir(parents=True)
    (place / "good.png").write_bytes(b"png")
    (place / "link.png").symlink_to(tmp_path / "secret")
    with pytest.warns(TrackioLikeWarning, match="without 5 media files"):
        frozen = freeze(folder=tmp_path / "frozen")
    folder = project_folder(frozen) / "runs" / "0"
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()) == [
        "media/0/good.png",
        "run.json",
    ]


def test_nothing_of_a_deleted_run_is_in_the_copy(root, tmp_path):
    for name in ("kept", "deleted"):
        run = Recorded(root, run_id=f"run-{name}")
        writer = run.writer()
        run.log(writer, 0, **{f"metric-{name}": 1.0})
        writer.event("config", {"values": {"note": f"note-{name}"}})
        if name == "deleted":
            writer.event("delete", {})
        writer.close()
    folder = Path(freeze(folder=tmp_path / "frozen"))
    index = json.loads((project_folder(folder) / "index.json").read_text())
    assert [line["id"] for line in index["runs"]] == ["run-kept"]
    for path in (folder / "data").rglob("*"):  # the page's own style has a word for deleted runs
        rows = pq.read_table(path).to_pylist() if path.suffix == ".parquet" else []
        assert "-deleted" not in str(rows)
        assert path.is_dir() or b"-deleted" not in path.read_bytes()


def test_what_cannot_be_read_is_said_and_the_rest_is_copied(root, tmp_path):
    run = Recorded(root)
    writers = [run.writer(), run.writer()]
    for value, writer in enumerate(writers):
        run.log(writer, 0, a=float(value))
        run.drop_journal(writer)
        writer.close()
    run.shard_paths()[0].write_bytes(b"damaged")
    with pytest.warns(TrackioLikeWarning, match="without 1 damaged files"):
        folder = freeze(folder=tmp_path / "frozen")
    assert len(pq.read_table(project_folder(folder) / "metrics-0001.parquet")) == 1


def test_projects_whose_names_look_alike_get_folders_of_their_own(tmp_path):
    for project in ("A b", "a-b", "日本"):
        log_run(project)
    folder = freeze(folder=tmp_path / "frozen")
    [data] = (Path(folder) / "data").iterdir()
    document = json.loads((data / "projects.json").read_text())
    assert {line["name"] for line in document["projects"]} == {"A b", "a-b", "日本"}
    assert {line["folder"] for line in document["projects"]} == {"a-b", "a-b-2", "project"}


def test_wrong_questions_say_what_is_right(tmp_path):
    log_run()
    with pytest.raises(ValueError, match="either folder= or space_id="):
        freeze()
    with pytest.raises(ProjectNotFoundError, match="'p'"):
        freeze("other", folder=tmp_path / "frozen")
    with pytest.raises(TrackioLikeError, match="nothing to freeze"):
        freeze(folder=tmp_path / "frozen", root=tmp_path / "nowhere")
    assert not (tmp_path / "frozen").exists()


def test_the_command_says_where_the_copy_is_and_how_to_look_at_it(tmp_path, capsys):
    log_run()
    parser = argparse.ArgumentParser()
    command.COMMAND.add_arguments(parser)
    options = parser.parse_args(["p", "--to", str(tmp_path / "frozen")])
    assert command.COMMAND.run(options) == 0
    printed = capsys.readouterr().out
    assert str(tmp_path / "frozen") in printed
    assert "python -m http.server" in printed
    assert (tmp_path / "frozen" / "index.html").is_file()
