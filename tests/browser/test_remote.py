"""A page over a bucket on the Hub says how its copy stands, shows what is there, and lets people sign in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial

import pytest
from playwright.sync_api import expect

import trackio_like as trackio
from tests.browser.conftest import free_port, wait_until_up

BUCKET = "me/rows"
pytestmark = pytest.mark.browser


@pytest.fixture
def bucket(hub, root):
    """The bucket, empty; gives what puts the files of some runs into it."""
    api = hub.api("me")
    api.create_bucket(BUCKET)

    def fill(*names):
        for name in names:
            with trackio.init(project="far", name=name) as run:
                for step in range(5):
                    run.log({"loss": 1 / (step + 1)})
        shards = [(str(path), path.relative_to(root).as_posix()) for path in root.rglob("*.parquet")]
        api.batch_bucket_files(BUCKET, add=shards)

    return fill


@pytest.fixture
def open_bucket(hub, bucket, page, tmp_path):
    """Serves the bucket, with a copy of its own, and opens it."""
    started = []

    def show(*, port=None, **environment):
        port = port or free_port()
        url = f"http://127.0.0.1:{port}/"
        command = [sys.executable, "-m", "space_app", "--bucket", BUCKET, "--port", str(port), "--ends-with-stdin"]
        environment = {
            **os.environ,
            **environment,
            "HF_HOME": str(tmp_path / "reader"),
            "HF_XET_CACHE": str(tmp_path / "reader" / "xet"),
        }
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
        started.append(process)
        wait_until_up(process, url)
        page.goto(url)
        return page

    yield show
    hub.clear_faults()
    hub.up()
    for process in started:
        process.stdin.close()
        process.wait(timeout=10)


def bar(page):
    return page.locator(".tl-mirror")


def test_a_copy_under_way_says_how_far_it_is_and_then_nothing(hub, bucket, open_bucket):
    bucket("one", "two", "three")
    hub.fail("/resolve/", kind="hang", times=None, skip=2)
    page = open_bucket()
    expect(bar(page)).to_have_text(re.compile(r"^Copying from the bucket me/rows: \d+ of \d+ files \(.+ of .+\)"))
    expect(page.get_by_role("progressbar", name="Copied")).to_be_visible()
    assert 0 <= int(page.get_by_role("progressbar", name="Copied").get_attribute("aria-valuenow")) < 100
    hub.clear_faults()
    expect(page.locator(".tl-sidebar .tl-run")).to_have_count(3)
    page.wait_for_selector('[data-ready="1"]')
    expect(bar(page)).to_be_hidden()


def test_an_empty_bucket_says_what_is_watched_and_how_to_log_there(bucket, open_bucket):
    page = open_bucket()
    expect(page.get_by_role("heading", name="Waiting for the first run")).to_be_visible()
    expect(page.locator("[data-role=root]")).to_have_text("the bucket me/rows")
    expect(page.locator(".tl-code pre")).to_contain_text('bucket_id="me/rows"')
    bucket("first")
    expect(page.locator(".tl-sidebar .tl-run")).to_have_count(1)


def test_a_hub_that_is_away_is_told_and_what_was_known_stays(hub, bucket, open_bucket):
    bucket("one")
    page = open_bucket()
    page.wait_for_selector('[data-ready="1"]')
    expect(bar(page)).to_be_hidden()
    hub.down()
    expect(bar(page)).to_have_class(re.compile("tl-bad"), timeout=60_000)
    expect(bar(page)).not_to_be_empty()
    expect(page.locator(".tl-sidebar .tl-run")).to_have_count(1)
    page.get_by_role("button", name="Hide this note").click()
    expect(bar(page)).to_be_hidden()
    hub.up()
    bucket("two")
    expect(page.locator(".tl-sidebar .tl-run")).to_have_count(2, timeout=60_000)


def test_a_bucket_that_may_not_be_read_says_so_and_opens_when_it_may(hub, bucket, open_bucket):
    bucket("one")
    hub.fail("/buckets/", kind="status", status=403, times=None)
    page = open_bucket()
    expect(page.get_by_role("heading", name="Waiting for the bucket me/rows")).to_be_visible(timeout=60_000)
    expect(bar(page)).to_be_visible()
    hub.clear_faults()
    expect(page.locator(".tl-sidebar .tl-run")).to_have_count(1, timeout=60_000)


def test_a_view_of_a_bucket_is_read_only_and_says_why(bucket, open_bucket):
    bucket("one")
    page = open_bucket()
    page.get_by_role("tab", name="Runs", exact=True).click()
    page.get_by_role("button", name="Read only").click()
    expect(page.locator(".tl-menu")).to_contain_text("Change it where it lies.")
    expect(page.get_by_role("button", name=re.compile("^(Change|Rename|Delete)"))).to_have_count(0)


def to_http(context, route):
    """Goes to the Hub and back with the browser's login: to http, where a Space has https before it."""
    begun = route.fetch(max_redirects=0)
    allowed = context.request.get(begun.headers["location"], max_redirects=0)
    back = allowed.headers["location"].replace("https", "http", 1)
    route.fulfill(status=302, headers={"location": back, "set-cookie": begun.headers["set-cookie"]})


@pytest.fixture
def open_space(hub, open_bucket, page):
    """Opens the bucket as a Space with logins shows it, in a browser in which somebody is signed in at the Hub."""

    def show(user):
        hub.sign_in(user)
        port = free_port()
        page.context.route(re.compile("/t/login[?]"), partial(to_http, page.context))
        environment = {"SPACE_ID": "me/board", "SPACE_HOST": f"127.0.0.1:{port}", "TRACKIO_BUCKET_ID": BUCKET}
        open_bucket(port=port, **environment, **hub.add_oauth_app())
        page.get_by_role("tab", name="Runs", exact=True).click()
        return page

    return show


def sign_in(page):
    """Signs in, in the tab that opens for it, and gives that tab."""
    link = page.get_by_role("link", name="Sign in with Hugging Face").last
    with page.context.expect_page() as opened:
        link.click()
    opened.value.set_default_timeout(15_000)
    opened.value.wait_for_selector(".tl-table-row")
    return opened.value


def test_who_signs_in_and_may_write_renames_a_run_in_the_bucket_and_signs_out(bucket, open_space):
    bucket("one")
    page = open_space("me")
    expect(page.get_by_role("button", name=re.compile("^(Change|Rename|Delete)"))).to_have_count(0)
    mine = sign_in(page)
    assert "tab=runs" in mine.url
    mine.get_by_role("button", name="Rename, tag, group or delete the ticked runs").click()
    mine.locator(".tl-menu").get_by_role("button", name="Rename", exact=True).click()
    mine.get_by_role("textbox", name="Name").fill("better")
    mine.keyboard.press("Enter")
    for each in (mine, page):
        expect(each.locator(".tl-sidebar").get_by_title("better").first).to_be_visible(timeout=60_000)
    mine.get_by_role("button", name="me", exact=True).click()
    expect(mine.locator(".tl-menu")).to_contain_text("Signed in with Hugging Face as me.")
    mine.get_by_role("button", name="Sign out").click()
    expect(mine.get_by_role("link", name="Sign in with Hugging Face")).to_be_visible()
    expect(mine.get_by_role("button", name="Rename, tag, group or delete the ticked runs")).to_be_hidden()


def test_who_signs_in_and_may_not_write_is_told_so(bucket, open_space):
    bucket("one")
    theirs = sign_in(open_space("other"))
    theirs.get_by_role("button", name="other", exact=True).click()
    expect(theirs.locator(".tl-menu")).to_contain_text("other may not write to the bucket me/rows")
    expect(theirs.get_by_role("button", name=re.compile("^(Change|Rename|Delete)"))).to_have_count(0)
