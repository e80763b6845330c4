"""The command `trackio-like`, and `show`."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import trackio_like as trackio
from trackio_like.cli import COMMANDS, main
from trackio_like.cli.show import split


def command(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "trackio_like.cli", *words], capture_output=True, text=True, timeout=60, **options
    )


def test_help_lists_every_command_with_its_sentence(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for each in COMMANDS:
        assert each.name in text
        assert each.help in text


def test_a_wrong_command_names_the_right_ones():
    done = command("sow")
    assert done.returncode == 2
    assert "show" in done.stderr


def test_the_version_is_the_packages():
    assert command("--version").stdout.strip() == f"trackio-like {trackio.__version__}"


def test_the_command_line_stays_light():
    heavy = ("gradio", "pyarrow", "duckdb", "numpy")
    code = f"import sys, trackio_like.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.status, answer.headers, answer.read()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_show_starts_on_the_next_free_port_and_ends_with_close(root, capsys):
    with trackio.init(project="a b/ü", name="one") as run:
        run.log({"l": 1.0})
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with trackio.show("a b/ü", port=port, open_browser=False, block=False) as dashboard:
            assert dashboard.is_running
            assert f"Port {port} is taken" in capsys.readouterr().out
            assert dashboard.url.endswith("/?project=a+b%2F%C3%BC")
            status, headers, body = get(dashboard.url)
            assert status == 200
            assert "default-src 'self'" in headers["content-security-policy"]
            base = dashboard.url.split("?")[0]
            assert [project["name"] for project in json.loads(get(f"{base}t/meta")[2])["projects"]] == ["a b/ü"]
            script = body.decode().split('src="tstatic/')[1].split('"')[0]
            status, headers, _ = get(f"{base}tstatic/{script}")
            assert status == 200
            assert "immutable" in headers["cache-control"]
            with pytest.raises(urllib.error.HTTPError, match="404"):
                get(f"{base}tstatic/..%2f..%2fapp.py")
    assert not dashboard.is_running
    dashboard.close()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_dashboard_ends_with_the_process_that_opened_it(root):
    code = (
        "import trackio_like, os; board = trackio_like.show(port=17860, open_browser=False, block=False);"
        " print(board.url, flush=True); os._exit(1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=90)
    url = done.stdout.split()[-1]
    with pytest.raises(urllib.error.URLError):
        get(f"{url}t/meta")


def test_show_takes_a_project_or_a_folder(tmp_path, monkeypatch):
    root = tmp_path / "root"
    (root / "both").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for name in ("both", "folder"):
        (tmp_path / name).mkdir()
    assert split("both", root) == ("both", root)
    assert split("folder", root) == (None, Path("folder"))
    assert split(str(root), tmp_path) == (None, root)
    assert split("a/b", root) == ("a/b", root)
    assert split("x" * 300, root) == ("x" * 300, root)
    assert split(None, root) == (None, root)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_show_prints_what_reads_and_what_writes_and_asks_for_its_tokens(root, capsys, monkeypatch):
    monkeypatch.setenv("TRACKIO_WRITE_TOKEN", "of another server")
    with trackio.show(
        port=17960, open_browser=False, block=False, write_token="may-write", read_token="may-read"
    ) as dashboard:
        said = capsys.readouterr().out
        assert dashboard.url in said
        assert dashboard.write_url in said
        assert dashboard.url.endswith("/?read_token=may-read")
        assert dashboard.write_url.endswith("/?write_token=may-write")
        assert "may-" not in repr(dashboard)
        base = dashboard.url.split("?")[0]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            get(f"{base}t/meta")
        request = urllib.request.Request(f"{base}t/me", headers={"Authorization": "Bearer may-write"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert json.load(answer)["may_write"] is True


def test_one_thing_is_shown_at_a_time():
    with pytest.raises(ValueError, match="one thing"):
        trackio.show(bucket_id="me/a", dataset_id="me/b", block=False)
