"""The Hugging Face Hub's wire protocol on 127.0.0.1, for the real huggingface_hub and hf-xet clients.

In a test, with the fixture `hub` (see `fixtures.py`) or with a Hub of its own:

```python
with running_hub() as hub:  # running_hub(folder) survives a restart
    hub.add_org("team", members={}, private_by_default=True)
    hub.add_user("me", is_pro=True, orgs={"team": "write"})
    token = hub.token("me", role="read", expires_in_s=60)
    api = hub.api("me")  # HfApi with the account's write token; or HfApi(endpoint=hub.endpoint)

    hub.fail("/batch$", kind="lost")  # the next batch is applied, and its answer cut off
    hub.fail("/cas/", kind="status", status=503, times=3, skip=1)
    hub.fail(".", kind="delay", delay_s=0.1, times=None)
    hub.clear_faults()

    hub.expire(token)
    hub.revive(token)
    hub.down()
    hub.up()  # the same ports, with what it knew
    hub.limits.set_quota("api", 20)  # real 429 answers with RateLimit headers
    assert hub.bucket_files("me/b") == {"a.txt": b"..."}
    assert not hub.leaks  # no token reached the CDN's port
    assert [r.path for r in hub.requests if r.group == "api"]
```

`faults.KINDS` says what can go wrong.
As a process: `python -m tests.hub_server --port 7870 --data .hub`, or `make hub`.

What it does not do: it trusts the hashes that clients compute, it never finds global duplicates of chunks, and it does
not know pull requests, gated repositories or resource groups.
"""

from tests.hub_server.hub import Hub, running_hub

__all__ = ["Hub", "running_hub"]
