"""A self-hosted server as a process, its real client, and a reverse proxy between them."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from typing import ClassVar

import pytest

from tests.store.recording import Recorded
from trackio_like import Api
from trackio_like._show import Tokens, Urls
from trackio_like.daemon.sender import Batch, Upload
from trackio_like.daemon.server import ServerSender
from trackio_like.errors import (
    RemoteInvalidError,
    RemoteMissingError,
    RemoteRefusedError,
    RemoteUnavailableError,
)
from trackio_like.format.targets import Target
from trackio_like.store.intake import INCOMING_FOLDER

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
WRITE, READ = "write-s3cret", "read-s3cret"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`python -m space_app`, which can be killed and started again at the same place."""

    def __init__(self, root, log, **env):
        self.root, self.log, self.port = root, log, free_port()
        self.env = {**os.environ, "TRACKIO_WRITE_TOKEN": WRITE, "TRACKIO_READ_TOKEN": READ, **env}
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        command = [sys.executable, "-m", "space_app", "--root", str(self.root), "--port", str(self.port)]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*command, "--ends-with-stdin"], stdin=subprocess.PIPE, stdout=log, stderr=log, env=self.env
            )
        wait = threading.Event()
        while self.process.poll() is None:
            with contextlib.suppress(OSError), get(f"{self.url}/t/server"):
                return self
            wait.wait(0.1)
        raise AssertionError(self.log.read_text())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.end()

    def end(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait()


def until(condition):
    """Waits until a condition holds; the test's own limit ends it where it never does."""
    wait = threading.Event()
    while not condition():
        wait.wait(0.02)


OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor())


def get(url, **headers):
    return OPENER.open(urllib.request.Request(url, headers=headers), timeout=20)


@pytest.fixture
def serve(tmp_path):
    started = []

    def start(**env):
        started.append(Server(tmp_path / "server", tmp_path / "log", **env).start())
        return started[-1]

    yield start
    for server in started:
        server.end()


@pytest.fixture
def run(tmp_path):
    run = Recorded(tmp_path / "client", project="a/Ü 1%")
    writer = run.writer()
    writer.event("init", {"name": "n"})
    for step in range(10):
        run.log(writer, step, loss=step / 7)
        run.seal(writer)
    writer.event("finish", {"state": "finished"})
    run.drop_journal(writer)
    writer.close()
    media = run.folder.path / "media" / "0"
    media.mkdir(parents=True)
    (media / "x.png").write_bytes(b"image" * 1000)
    return run


def batch_of(run, **options):
    files = [path for path in sorted(run.root.rglob("*")) if path.suffix in (".parquet", ".png")]
    uploads = [Upload(path=str(file.relative_to(run.root)), file=file, num_bytes=file.stat().st_size) for file in files]
    return Batch(uploads=tuple(uploads), **options)


def sender(url, token=WRITE):
    return ServerSender(Target(kind="server", id=url), token)


def rows(root, run):
    return Api(root).run(run.project, run.run_id).history()["seq"].to_pylist()


def test_a_run_arrives_whole_and_once(serve, run, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_" + "x" * 34)
    server = serve()
    client, batch = sender(server.url), batch_of(run)
    assert client.prepare() is None
    for _ in range(2):
        outcome = client.send(batch)
        assert outcome.stored == {upload.path for upload in batch.uploads}
        assert (outcome.failed, outcome.rejected) == ({}, {})
    assert dict(client.paths()) == {upload.path: upload.num_bytes for upload in batch.uploads}
    assert rows(server.root, run) == rows(run.root, run)
    gone = Upload(path=batch.uploads[0].path, file=tmp_path / "vanished", num_bytes=1)
    assert client.send(Batch(uploads=(gone,))).stored == frozenset()


def test_a_server_that_was_killed_in_the_middle_goes_on_where_it_was(serve, run):
    server = serve()
    client, batch = sender(server.url), batch_of(run)
    first = client.send(Batch(uploads=batch.uploads[:3]))
    assert len(first.stored) == 3
    server.kill()
    with pytest.raises(RemoteUnavailableError, match="does not answer"):
        client.send(batch)
    with pytest.raises(RemoteUnavailableError):
        client.prepare()
    server.start()
    assert len(client.send(batch).stored) == len(batch.uploads)
    assert rows(server.root, run) == rows(run.root, run)


def test_a_wrong_token_and_a_wrong_address_are_told(serve, run):
    server = serve()
    for token in ("wrong", "", READ):
        with pytest.raises(RemoteRefusedError, match="write token"):
            sender(server.url, token).prepare()
        with pytest.raises(RemoteRefusedError):
            sender(server.url, token).send(batch_of(run))
        with pytest.raises(RemoteRefusedError):
            list(sender(server.url, token).paths())
    with pytest.raises(RemoteMissingError, match="no trackio_like server"):
        sender(f"{server.url}/elsewhere").prepare()
    with pytest.raises(RemoteInvalidError, match="no address"):
        sender("ftp://127.0.0.1").prepare()
    assert not (server.root / "a%2F%C3%9C%201%25").exists()


def test_what_a_server_never_takes_is_set_aside_and_the_rest_is_sent(serve, run):
    server = serve(TRACKIO_MAX_UPLOAD_MB="0.02")
    bad = next(file for file in run.root.rglob("*.parquet"))
    bad.write_bytes(b"not Parquet")
    large = run.folder.path / "media" / "0" / "large.png"
    large.write_bytes(b"x" * 30_000)
    batch = batch_of(run)
    outcome = sender(server.url).send(batch)
    paths = {str(path.relative_to(run.root)) for path in (bad, large)}
    assert outcome.rejected.keys() == paths
    assert outcome.stored == {upload.path for upload in batch.uploads} - paths


def test_a_deleted_run_is_removed_from_the_server_and_stays_away(serve, run):
    server = serve()
    client, batch = sender(server.url), batch_of(run)
    client.send(batch)
    paths = tuple(upload.path for upload in batch.uploads)
    refused = client.send(Batch(deletes=paths))
    assert refused.failed.keys() == set(paths)
    Api(run.root).run(run.project, run.run_id).delete()
    client.send(batch_of(run))
    assert client.send(Batch(deletes=tuple(path for path, _ in client.paths()))).failed == {}
    assert list(client.paths()) == []
    late = client.send(batch)
    assert late.rejected.keys() == {path for path in paths if path.endswith(".parquet")}


class Proxy(http.server.BaseHTTPRequestHandler):
    """Shows a server below `/board`, as nginx does with a path to strip."""

    protocol_version = "HTTP/1.1"
    upstream = 0
    told: ClassVar[dict[str, str]] = {}

    def forward(self):
        if not self.path.startswith("/board/"):
            self.send_error(404)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        upstream = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=20)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
        headers |= {"X-Forwarded-For": "192.0.2.1", **self.told}
        upstream.request(self.command, self.path.removeprefix("/board"), body=body or None, headers=headers)
        answer = upstream.getresponse()
        content = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        upstream.close()

    def log_message(self, *args):
        pass


for method in ("GET", "PUT", "POST", "DELETE"):
    setattr(Proxy, f"do_{method}", Proxy.forward)


@pytest.fixture
def proxy():
    handler = type("Bound", (Proxy,), {})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    handler.url = f"http://127.0.0.1:{server.server_port}/board"
    yield handler
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("way", ["public_url", "forwarded"])
def test_everything_works_below_a_path_behind_a_proxy(serve, run, proxy, way):
    server = serve(TRACKIO_PUBLIC_URL=f"{proxy.url}/") if way == "public_url" else serve()
    proxy.upstream = server.port
    proxy.told = {} if way == "public_url" else {"X-Forwarded-Prefix": "/board", "Host": proxy.url.split("/")[2]}
    client, batch = sender(proxy.url), batch_of(run)
    client.prepare()
    assert len(client.send(batch).stored) == len(batch.uploads)
    assert len(list(client.paths())) == len(batch.uploads)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        get(f"{proxy.url}/")
    with get(f"{proxy.url}/?project=p&write_token={WRITE}") as answer:
        page = answer.read().decode()
        assert answer.url == f"{proxy.url}/?project=p"
        assert WRITE not in page
    script = page.split('src="tstatic/')[1].split('"')[0]
    for path in (f"tstatic/{script}", "t/meta", "config", "t/me"):
        with get(f"{proxy.url}/{path}") as answer:
            assert answer.status == 200
            body = answer.read()
    assert json.loads(body)["may_write"] is True
    with get(f"{proxy.url}/config") as answer:
        assert json.load(answer)["root"] == proxy.url
    change = json.dumps({"project": run.project, "runs": None, "type": "rename", "payload": {"name": "x"}}).encode()
    request = urllib.request.Request(
        f"{proxy.url}/t/change",
        data=change,
        headers={"Content-Type": "application/json", "Origin": proxy.url.removesuffix("/board")},
    )
    with OPENER.open(request, timeout=20) as answer:
        assert json.load(answer) == {"changed": [run.run_id]}
    assert Api(server.root).run(run.project, run.run_id).name == "x"


def test_no_token_is_in_anything_that_the_server_says(serve, run):
    server = serve()
    with get(f"{server.url}/?write_token={WRITE}") as answer:
        answer.read()
    for url in (f"{server.url}/?write_token=wrong-{WRITE}", f"{server.url}/t/nothing?token={WRITE}"):
        with pytest.raises(urllib.error.HTTPError):
            get(url)
    sender(server.url).send(batch_of(run))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest("PUT", f"/t/files/p/r/media/0/x.png?write_token={WRITE}")
    connection.putheader("Authorization", f"Bearer {WRITE}")
    connection.putheader("X-Content-SHA256", "0" * 64)
    connection.putheader("Content-Length", "1000000")
    connection.endheaders(b"half")
    connection.close()
    server.end()
    said = server.log.read_text()
    assert "s3cret" not in said
    assert "Traceback" not in said


def test_urls_are_for_reading_and_for_writing():
    urls = Urls.at("http://h:7860/", "a b", Tokens(write=WRITE))
    assert urls.read == "http://h:7860/?project=a+b"
    assert urls.write == f"http://h:7860/?project=a+b&write_token={WRITE}"
    assert Urls.at("http://h/", None, Tokens(write=WRITE, read=READ)).read == f"http://h/?read_token={READ}"
    assert "s3cret" not in f"{Tokens(write=WRITE, read=READ)} {urls}"


def test_half_a_body_leaves_nothing(serve, run):
    server = serve()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest("PUT", "/t/files/p/r/media/0/x.png")
    connection.putheader("Authorization", f"Bearer {WRITE}")
    connection.putheader("X-Content-SHA256", "0" * 64)
    connection.putheader("Content-Length", str(3 << 20))
    connection.endheaders(b"x" * (2 << 20))
    incoming = server.root / INCOMING_FOLDER
    until(lambda: incoming.is_dir() and any(incoming.iterdir()))
    connection.close()
    until(lambda: not any(incoming.iterdir()))
    assert list(sender(server.url).paths()) == []


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs a system that can bound another process")
def test_a_full_disk_delays_rows_and_loses_none(serve, run):
    server = serve()
    client, batch = sender(server.url), batch_of(run)
    before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (100, -1))
    with pytest.raises(RemoteUnavailableError, match="disk does not take it"):
        client.send(batch)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)
    assert len(client.send(batch).stored) == len(batch.uploads)
    assert rows(server.root, run) == rows(run.root, run)
    assert not any((server.root / INCOMING_FOLDER).iterdir())


def test_two_clients_send_the_same_run_at_once(serve, run):
    server = serve()
    batch = batch_of(run)
    outcomes = []
    threads = [threading.Thread(target=lambda: outcomes.append(sender(server.url).send(batch))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [outcome.stored for outcome in outcomes] == [{upload.path for upload in batch.uploads}] * 3
    assert rows(server.root, run) == rows(run.root, run)


def test_a_token_follows_no_redirect(run):
    class Elsewhere(http.server.BaseHTTPRequestHandler):
        asked: ClassVar[list[str]] = []

        def do_GET(self):
            self.asked.append(self.path)
            self.send_response(307)
            self.send_header("Location", "/stolen")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.raises(RemoteInvalidError, match="elsewhere: /stolen"):
            sender(f"http://127.0.0.1:{server.server_port}").prepare()
        assert Elsewhere.asked == ["/t/server"]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
