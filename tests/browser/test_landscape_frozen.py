"""Landscapes in a frozen copy: the same pictures, from files."""

import json
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.landscapes import colour_at, panel, wait_for_panel, wait_for_step
from tests.freeze.static_server import static_server
from trackio_like._freeze import freeze


@pytest.fixture(scope="module")
def copy(board, tmp_path_factory):
    target = tmp_path_factory.mktemp("site") / "frozen"
    freeze(["land", "spike"], folder=target, root=board.root)
    with static_server(target, sends_parts=True) as server:
        yield server


def test_a_frozen_copy_shows_landscapes_and_replays_them(copy, page):
    view = {"name": "bowl", "view": "heat", "scale": "linear", "marks": False, "speed": 20}
    page.goto(f"{copy.url}?{urlencode({'project': 'land', 'tab': 'landscape', 'landscape': json.dumps(view)})}")
    wait_for_step(page, 40)
    expect(page.locator(".tl-land-card")).to_have_count(4)
    page.get_by_role("slider", name="Step").fill("0")
    wait_for_step(page, 0)
    assert colour_at(page, 0.0, 0.0) == [68, 1, 84]
    assert colour_at(page, 1.0, 1.0) == [253, 231, 37]
    page.get_by_role("button", name="Play").click()
    wait_for_step(page, 40)
    page.get_by_role("button", name="3D", exact=True).click()
    wait_for_panel(page, "p.root.dataset.view === '3d'")
    assert panel(page, "p.frame.payload.meta.mode") == "serial"


def test_a_frozen_project_without_landscapes_says_so(copy, page):
    page.goto(f"{copy.url}?{urlencode({'project': 'spike', 'tab': 'landscape'})}")
    expect(page.get_by_role("heading", name="No loss landscape here yet")).to_be_visible()
    expect(page.locator(".tl-land-empty pre")).to_have_count(0)
