"""Every tab of the registry has its view in the bundle, and a link of its own."""

import pytest
from playwright.sync_api import expect

from space_app.tabs import TABS


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.id)
def test_a_tab_opens_by_its_link_and_is_filled_by_the_bundle(tab, page, board):
    page.goto(board.link(project="odd", tab=tab.id))
    expect(page.get_by_role("tab", name=tab.title, exact=True)).to_have_attribute("aria-selected", "true")
    panel = page.locator(f"[data-tl-panel={tab.id}]")
    expect(panel).to_have_attribute("data-mounted", "1")
    expect(panel).not_to_be_empty()


def test_changing_tabs_is_written_into_the_link_and_keeps_the_charts(open_view, page):
    open_view(project="odd")
    page.locator(".tl-card canvas").first.evaluate("(canvas) => { canvas.dataset.same = 'yes'; }")
    page.get_by_role("tab", name="Runs", exact=True).click()
    page.wait_for_selector(".tl-table-row")
    page.wait_for_function("location.search.includes('tab=runs')")
    rounds = page.evaluate("TL.poller.rounds")
    with page.expect_response("**/t/poll") as found:
        page.wait_for_function(f"TL.poller.rounds > {rounds}")
    assert found.value.request.post_data_json["panels"] == [], "hidden charts are asked for"
    page.get_by_role("tab", name="Metrics", exact=True).click()
    expect(page.locator(".tl-card canvas").first).to_have_attribute("data-same", "yes")
    page.wait_for_function("!location.search.includes('tab=')")
