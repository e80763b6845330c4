"""Model graphs in a frozen copy: the same pictures, from files."""

import json
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.models import LAYER, box, model, wait_for_model
from tests.freeze.static_server import static_server
from trackio_like._freeze import freeze


@pytest.fixture(scope="module")
def copy(board, tmp_path_factory):
    target = tmp_path_factory.mktemp("site") / "frozen"
    freeze(["nets"], folder=target, root=board.root)
    with static_server(target, sends_parts=True) as server:
        yield server


def test_a_frozen_copy_shows_and_opens_graphs(copy, page):
    view = {"name": "language", "at": LAYER}
    page.goto(f"{copy.url}?{urlencode({'project': 'nets', 'tab': 'model', 'model': json.dumps(view)})}")
    wait_for_model(page)
    page.keyboard.press("e")
    wait_for_model(page, "m.opening.isOpen(3)")
    expect(box(page, LAYER + ".norm")).to_be_visible()
    page.get_by_label("Graph", exact=True).select_option(label="alpha · mlp")
    wait_for_model(page, "m.frame.name === 'mlp'")
    page.get_by_label("Step", exact=True).fill("0")
    wait_for_model(page, "m.root.dataset.step === '0'")
    assert model(page, "m.graph.modules.length") == 4
