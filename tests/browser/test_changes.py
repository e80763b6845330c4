"""Runs are renamed, tagged, deleted, restored and purged in the page, by those who may write, and by nobody else."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

import trackio_like as trackio
from tests.browser.conftest import free_port, wait_until_up
from tests.freeze.static_server import static_server
from trackio_like._freeze import freeze

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
    row(page, name).get_by_role("button", name=f"Change {name}").click()


def choose_for_ticked(page, action):
    page.get_by_role("button", name="Rename, tag, group or delete the ticked runs").click()
    menu_item(page, action).click()


def dialog_button(page, name):
    return page.get_by_role("dialog").last.get_by_role("button", name=name, exact=True)


def delete(page, name):
    row_menu(page, name)
    menu_item(page, "Delete").click()
    dialog_button(page, "Delete").click()
    expect(row(page, name)).to_have_count(0)


def test_a_run_is_renamed_everywhere_and_its_name_stays_text(open_runs, project):
    page = open_runs(may_write=True)
    assert TOKEN not in page.url
    row_menu(page, "run <b>1</b>")
    menu_item(page, "Rename").click()
    page.get_by_role("textbox", name="Name").fill("better <i>one</i>")
    page.keyboard.press("Enter")
    expect(row(page, "better <i>one</i>")).to_be_visible()
    expect(page.locator(".tl-sidebar").get_by_title("better <i>one</i>").first).to_be_visible()
    page.get_by_role("tab", name="Metrics", exact=True).click()
    expect(page.locator(".tl-card .tl-legend")).to_contain_text("better <i>one</i>")
    expect(page.locator(".tl-card .tl-legend")).not_to_contain_text("run <b>1</b>")
    assert {run.name for run in trackio.Api().runs(project)} == {"run <b>0</b>", "better <i>one</i>", "run <b>2</b>"}


def test_tags_and_group_of_all_ticked_runs_are_set_at_once_and_keep_what_only_some_have(open_runs, project):
    api = trackio.Api()
    next(run for run in api.runs(project) if run.name == "run <b>0</b>").set_tags(["old", "mine"])
    page = open_runs(may_write=True)
    expect(row(page, "run <b>0</b>").locator("[data-col=tags]")).to_have_text("old, mine")
    choose_for_ticked(page, "Tags")
    expect(page.get_by_label("Tags, with commas")).to_have_value("old")
    page.get_by_label("Tags, with commas").fill("a, b,, a")
    page.get_by_role("button", name="Set tags").click()
    expect(row(page, "run <b>0</b>").locator("[data-col=tags]")).to_have_text("a, b, mine")
    expect(row(page, "run <b>1</b>").locator("[data-col=tags]")).to_have_text("a, b")
    choose_for_ticked(page, "Group")
    page.get_by_label("Group", exact=True).fill("sweep")
    page.get_by_role("button", name="Set group").click()
    expect(page.locator("[role=row][data-run] [data-col=group]")).to_have_text(["sweep"] * 3)
    found = {run.name: (run.tags, run.group) for run in api.runs(project)}
    assert found["run <b>0</b>"] == (("a", "b", "mine"), "sweep")
    assert found["run <b>1</b>"] == found["run <b>2</b>"] == (("a", "b"), "sweep")


def test_a_deleted_run_goes_from_everywhere_and_comes_back_by_undo(open_runs, project):
    page = open_runs(may_write=True)
    row_menu(page, "run <b>2</b>")
    menu_item(page, "Delete").click()
    expect(page.get_by_role("dialog", name="Delete 1 run?")).to_contain_text("run <b>2</b>")
    dialog_button(page, "Cancel").click()
    expect(row(page, "run <b>2</b>")).to_be_visible()
    delete(page, "run <b>2</b>")
    expect(page.locator(".tl-sidebar .tl-run")).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "run <b>2</b>")).to_be_visible()
    expect(page.locator(".tl-sidebar .tl-run")).to_have_count(3)
    expect(page.locator(".tl-toast")).to_have_count(0)
    assert len(trackio.Api().runs(project)) == 3


def test_purging_asks_for_a_word_and_removes_the_files(open_runs, project, served):
    page = open_runs(may_write=True)
    _, root = served
    gone = next(run for run in trackio.Api().runs(project) if run.name == "run <b>0</b>")
    delete(page, "run <b>0</b>")
    choose_for_ticked(page, "Deleted runs")
    dialog_button(page, "Purge run <b>0</b>").click()
    expect(page.get_by_role("dialog", name="Purge this run?")).to_contain_text("run <b>0</b>")
    expect(dialog_button(page, "Purge")).to_be_disabled()
    page.get_by_label('Type "purge" to go on').fill("purg")
    expect(dialog_button(page, "Purge")).to_be_disabled()
    page.get_by_label('Type "purge" to go on').fill("purge")
    dialog_button(page, "Purge").click()
    expect(page.get_by_text("1 run purged.")).to_be_visible()
    expect(page.get_by_text("No run of this project is deleted.")).to_be_visible()
    assert not list(root.rglob(f"{gone.id}/events"))
    assert len(trackio.Api().runs(project)) == 2


def test_a_project_whose_runs_are_all_deleted_still_gives_them_back(open_runs):
    page = open_runs(may_write=True)
    choose_for_ticked(page, "Delete")
    expect(page.get_by_role("dialog", name="Delete 3 runs?")).to_be_visible()
    dialog_button(page, "Delete").click()
    expect(page.get_by_role("heading", name="No runs here")).to_be_visible()
    page.get_by_role("button", name="Deleted runs").click()
    expect(page.locator(".tl-deleted-row")).to_have_count(3)
    dialog_button(page, "Restore all").click()
    expect(page.get_by_text("No run of this project is deleted.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("[role=row][data-run]")).to_have_count(3)


def test_a_refusal_of_the_server_is_said_in_the_dialog_and_what_was_typed_stays(open_runs, faults):
    page = open_runs(may_write=True)
    page.context.clear_cookies()
    row_menu(page, "run <b>1</b>")
    menu_item(page, "Rename").click()
    page.get_by_role("textbox", name="Name").fill("refused")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text(re.compile("token"))
    expect(page.get_by_role("textbox", name="Name")).to_have_value("refused")
    expect(dialog_button(page, "Rename")).to_be_enabled()
    page.keyboard.press("Escape")
    expect(row(page, "run <b>1</b>")).to_be_visible()
    assert len(faults) == 1
    faults.clear()  # the browser says in its console that the request was refused


def test_who_may_only_look_sees_no_controls_and_a_forged_request_is_refused(open_runs, project, faults):
    page = open_runs(may_write=False)
    page.get_by_role("button", name="Read only").click()
    expect(page.locator(".tl-menu")).to_contain_text("open the write URL")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name=re.compile("^(Change|Rename|Delete)"))).to_have_count(0)
    page.get_by_role("tab", name="Run", exact=True).click()
    expect(page.locator(".tl-run-head").get_by_role("button", name="Read only")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^(Change|Rename|Delete)"))).to_have_count(0)
    answers = page.evaluate(
        """async (project) => Promise.all(["change", "purge"].map(async (route) => (await fetch(`t/${route}`, {
            method: "POST", headers: {"content-type": "application/json"},
            body: JSON.stringify({project, runs: null, ...(route === "change" ? {type: "delete", payload: {}} : {})}),
        })).status))""",
        project,
    )
    assert answers == [401, 401]
    assert len(faults) == 2
    faults.clear()  # the browser says in its console that the requests were refused
    assert len(trackio.Api().runs(project)) == 3


def test_the_run_tab_has_the_same_menu_and_says_when_its_run_is_deleted(open_runs):
    page = open_runs(may_write=True)
    page.get_by_title("Open run <b>1</b>").click()
    page.locator(".tl-run-head").get_by_role("button", name="Rename, tag, group or delete").click()
    menu_item(page, "Delete").click()
    dialog_button(page, "Delete").click()
    expect(page.get_by_text("This run is deleted, or was never here.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".tl-run-head")).to_contain_text("run <b>1</b>")


def test_a_run_is_renamed_from_the_sidebar_with_the_keyboard_alone(open_runs):
    page = open_runs(may_write=True)
    change = page.locator(".tl-sidebar").get_by_role("button", name="Change run <b>2</b>", include_hidden=True)
    page.locator(".tl-sidebar").get_by_label("Draw run <b>2</b>").focus()
    expect(change).to_be_visible()
    change.focus()
    page.keyboard.press("Enter")
    expect(menu_item(page, "Rename")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(menu_item(page, "Tags")).to_be_focused()
    page.keyboard.press("Escape")
    expect(change).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Name")).to_be_focused()
    page.keyboard.type("typed")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".tl-sidebar").get_by_role("button", name="Change typed")).to_be_focused()


def test_what_somebody_else_restores_or_deletes_shows_up_by_itself(open_runs, project):
    page = open_runs(may_write=False)
    found = next(run for run in trackio.Api().runs(project) if run.name == "run <b>1</b>")
    found.delete()
    expect(page.locator("[role=row][data-run]")).to_have_count(2)
    trackio.Api().restore(project, found.id)
    expect(row(page, "run <b>1</b>")).to_be_visible()


def test_a_frozen_copy_has_no_controls_no_hint_and_asks_no_server_who_looks(project, served, page, tmp_path):
    freeze([project], folder=tmp_path / "copy", root=served[1])
    with static_server(tmp_path, sends_parts=True) as server:
        page.goto(f"{server.url}copy/?project={project}&tab=runs")
        expect(page.locator("[role=row][data-run]")).to_have_count(3)
        for words in ("Read only", "Sign in with Hugging Face", "Manage"):
            expect(page.get_by_text(words)).to_be_hidden()
        expect(page.get_by_role("button", name=re.compile("^(Change|Rename|Delete)"))).to_have_count(0)
        assert not [path for path, _ in server.asked if "/t/" in path]
