"""Static servers for a folder: one that sends parts of files, and Python's own, which sends whole ones only."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Whole(SimpleHTTPRequestHandler):
    """`python -m http.server`, silent."""

    def log_message(self, *args):
        pass

    def end_headers(self):
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Range")))
        super().do_GET()


class _Parts(_Whole):
    """Answers `Range: bytes=a-b` with 206."""

    def do_GET(self):
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        path = Path(self.translate_path(self.path))
        if found is None or not path.is_file():
            super().do_GET()
            return
        self.server.asked.append((self.path, self.headers["Range"]))
        content = path.read_bytes()
        first, last = int(found[1]), min(int(found[2]), len(content) - 1)
        self.send_response(206)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.end_headers()
        self.wfile.write(content[first : last + 1])


@contextmanager
def static_server(folder, *, sends_parts):
    """Serves a folder on a free port of this machine.

    Yields:
        The server: `url`, and `asked`, the path and the Range of each request.
    """
    handler = partial(_Parts if sends_parts else _Whole, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.asked = []
        server.url = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, name="static-server")
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
