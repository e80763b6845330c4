"""Buckets, as the real client uses them."""

from __future__ import annotations

import os
from pathlib import Path

from tests.hub_server.hub import Hub


def test_a_file_is_downloaded_as_it_was_uploaded(hub: Hub, tmp_path: Path):
    api = hub.api("me")
    source = tmp_path / "source"
    source.write_bytes(os.urandom(300_000))
    content = {
        "random": source.read_bytes(),
        "folder/repeating": bytes(range(256)) * 4000,
        "empty": b"",
        "small": b"hi",
    }
    api.create_bucket("b")
    added = [(data, path) for path, data in content.items() if path != "random"]
    api.batch_bucket_files("me/b", add=[(source, "random"), *added])
    api.download_bucket_files("me/b", [(path, tmp_path / "down" / path) for path in content])

    assert {path: (tmp_path / "down" / path).read_bytes() for path in content} == content
    assert hub.bucket_files("me/b") == content
    assert not hub.leaks
