"""Runs are renamed, tagged, deleted, restored and purged in the page, by those who may write, and by nobody else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from playwright.sync_api import expect

import trackio_like as trackio
from tests.browser.conftest import free_port, wait_until_up
from tests.flow.conftest import until

TOKEN = "the-write-token"
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A dashboard with a write token, and its root."""
    root = tmp_path_factory.mktemp("changed")
    port = free_port()
    environment = {**os.environ, "TRACKIO_WRITE_TOKEN": TOKEN}
    command = [sys.executable, "-m", "space_app", "--root", str(root), "--port", str(port), "--ends-with-stdin"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    try:
        wait_until_up(process, f"http://127.0.0.1:{port}/")
        yield f"http://127.0.0.1:{port}/", root
    finally:
        process.stdin.close()
        process.wait(timeout=10)


@pytest.fixture
def project(served, request, monkeypatch):
    """A project of this test alone, with three runs."""
    _, root = served
    monkeypatch.setenv("TRACKIO_DIR", str(root))
    name = request.node.name
    for number in range(3):
        with trackio.init(project=name, name=f"run <b>{number}</b>", tags=["old"]) as run:
            for step in range(5):
                run.log({"loss": step * (number + 1)})
    return name


@pytest.fixture
def open_runs(served, project, page):
    """Opens the Runs tab; with rights where it is asked for."""

    def show(*, may_write):
        url, _ = served
        token = f"&write_token={TOKEN}" if may_write else ""
        page.goto(f"{url}?project={project}&tab=runs{token}")
        expect(page.locator("[role=row][data-run]")).to_have_count(3)
        return page

    return show


def row(page, name):
    return page.locator("[role=row][data-run]").filter(has=page.get_by_title(name, exact=True))


def menu_item(page, name):
    return page.locator(".tl-menu").get_by_role("button", name=name, exact=True)


def row_menu(page, name):
    row(page, name).hover()
    page.get_by_role("button", name=f"Change {name}").click()


def test_a_run_is_renamed_everywhere_and_its_name_stays_text(open_runs, project):
    page = open_runs(may_write=True)
    assert TOKEN not in page.url
    row_menu(page, "run <b>1</b>")
    menu_item(page, "Rename").click()
    page.get_by_role("textbox", name="Name").fill("better <i>one</i>")
    page.keyboard.press("Enter")
    expect(row(page, "better <i>one</i>")).to_be_visible()
    expect(page.locator(".tl-sidebar").get_by_title("better <i>one</i>").first).to_be_visible()
    assert {run.name for run in trackio.Api().runs(project)} == {"run <b>0</b>", "better <i>one</i>", "run <b>2</b>"}


def test_tags_and_group_of_all_ticked_runs_are_set_at_once(open_runs, project):
    page = open_runs(may_write=True)
    page.get_by_role("button", name="Rename, tag, group or delete the ticked runs").click()
    menu_item(page, "Tags").click()
    expect(page.get_by_label("Tags, with commas")).to_have_value("old")
    page.get_by_label("Tags, with commas").fill("a, b,, a")
    page.get_by_role("button", name="Set tags").click()
    page.get_by_role("button", name="Rename, tag, group or delete the ticked runs").click()
    menu_item(page, "Group").click()
    page.get_by_label("Group; leave it empty").fill("sweep")
    page.get_by_role("button", name="Set group").click()
    runs = trackio.Api()
    until(lambda: all((run.tags, run.group) == (("a", "b"), "sweep") for run in runs.runs(project)))


def test_a_deleted_run_goes_and_comes_back_by_undo(open_runs, project):
    page = open_runs(may_write=True)
    row_menu(page, "run <b>2</b>")
    menu_item(page, "Delete").click()
    expect(page.get_by_role("dialog", name="Delete 1 run?")).to_contain_text("run <b>2</b>")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("[role=row][data-run]")).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("[role=row][data-run]")).to_have_count(3)
    assert len(trackio.Api().runs(project)) == 3


def test_purging_asks_for_a_word_and_removes_the_files(open_runs, project, served):
    page = open_runs(may_write=True)
    _, root = served
    gone = next(run for run in trackio.Api().runs(project) if run.name == "run <b>0</b>")
    row_menu(page, "run <b>0</b>")
    menu_item(page, "Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("[role=row][data-run]")).to_have_count(2)
    page.get_by_role("button", name="Rename, tag, group or delete the ticked runs").click()
    menu_item(page, "Deleted runs").click()
    page.get_by_role("button", name="Remove for good").click()
    purge = page.get_by_role("dialog", name="Purge this run?").get_by_role("button", name="Purge")
    expect(purge).to_be_disabled()
    page.get_by_label('Type "purge" to go on').fill("purge")
    purge.click()
    expect(page.get_by_text("No run of this project is deleted.")).to_be_visible()
    assert not list(root.rglob(f"{gone.id}/events"))
    assert len(trackio.Api().runs(project)) == 2


def test_who_may_only_look_sees_no_controls_and_a_forged_request_is_refused(open_runs, project, faults):
    page = open_runs(may_write=False)
    expect(page.get_by_text("Read only")).to_be_visible()
    expect(page.get_by_role("button", name="Manage")).to_have_count(0)
    answer = page.evaluate(
        """async (project) => (await fetch("t/change", {method: "POST", headers: {"content-type": "application/json"},
            body: JSON.stringify({project, runs: null, type: "delete", payload: {}})})).status""",
        project,
    )
    assert answer in (401, 403)
    faults.clear()  # the browser says in its console that the request was refused
    assert len(trackio.Api().runs(project)) == 3


def test_the_run_tab_has_the_same_menu_and_escape_closes_it(open_runs, project):
    page = open_runs(may_write=True)
    page.get_by_role("tab", name="Run", exact=True).click()
    page.get_by_role("button", name="Rename, tag, group or delete").click()
    menu_item(page, "Rename").click()
    expect(page.get_by_role("dialog", name="Rename the run")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
