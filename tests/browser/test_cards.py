"""Cards and sections of the Metrics tab."""

import csv

from playwright.sync_api import expect

from tests.browser.charts import card, wait_for_chart


def test_thousands_of_keys_are_one_section_of_which_only_the_seen_cards_exist(open_view, page):
    open_view(project="keys")
    expect(page.locator(".tl-section")).to_have_count(1)
    expect(page.get_by_text("5,000 metrics")).to_be_visible()
    assert page.locator(".tl-card").count() < 40
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    wait_for_chart(page, "grad/layer4999/w", "c.lines.length === 1 && c.lines[0].y[0] === 4999")
    assert page.locator(".tl-card").count() < 40
    page.get_by_label("Filter metrics").fill("layer12[34]/")
    expect(page.locator(".tl-card")).to_have_count(2)


def test_sections_close_open_and_are_remembered_in_the_link(open_view, page):
    open_view(project="bench")
    expect(page.locator(".tl-section")).to_have_count(1)
    page.locator(".tl-section[data-section=train]").click()
    expect(page.locator(".tl-section[data-section=val]")).to_be_visible()
    expect(card(page, "train/m0")).to_have_count(0)
    expect(card(page, "val/m25")).to_be_visible()
    page.reload()
    expect(card(page, "val/m25")).to_be_visible()
    page.get_by_role("button", name="Close all").click()
    expect(page.locator(".tl-card")).to_have_count(0)
    page.get_by_role("button", name="Close all").click()
    expect(card(page, "train/m0")).to_be_visible()


def test_a_chart_is_enlarged_with_the_keyboard_and_closed_with_escape(open_view, page):
    open_view(project="odd", regex="^line$")
    card(page, "line").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Chart of line")
    expect(dialog.locator(".tl-note")).to_have_text("100 points")
    assert dialog.locator("canvas").bounding_box()["width"] > 1000
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert page.evaluate("document.activeElement.dataset.key") == "line"


def test_a_pinned_chart_stands_at_the_top_also_after_a_reload(open_view, page):
    open_view(project="bench")
    card(page, "train/m3").hover()
    card(page, "train/m3").get_by_label("Pin to the top").click()
    pinned = page.locator(".tl-section[data-section=Pinned]")
    expect(pinned).to_be_visible()
    expect(card(page, "train/m3")).to_have_count(2)
    wait_for_chart(page, "train/m3", "c.lines.length === 20")
    page.reload()
    expect(pinned).to_be_visible()


def test_all_raw_points_are_downloaded_exactly(open_view, page):
    open_view(project="odd", regex="^tokens$")
    rows = download(page, "tokens", "Download CSV (all points)")
    assert [(row["run_name"], row["step"], row["value"]) for row in rows] == [("strange", "0", str(2**53 + 1))]


def test_a_long_series_is_downloaded_whole(open_view, page):
    open_view(project="spike")
    rows = download(page, "l", "Download CSV (all points)")
    assert len(rows) == 100_000
    assert float(rows[56_789]["value"]) == 100


def download(page, key, item):
    card(page, key).hover()
    card(page, key).get_by_label("Scale, range, download").click()
    with page.expect_download() as found:
        page.get_by_role("button", name=item).click()
    with open(found.value.path(), newline="") as file:
        return list(csv.DictReader(file))


def test_a_chart_is_downloaded_as_a_picture(open_view, page):
    open_view(project="odd", regex="^line$")
    wait_for_chart(page, "line", "c.lines.length === 1")
    card(page, "line").hover()
    card(page, "line").get_by_label("Scale, range, download").click()
    with page.expect_download() as found:
        page.get_by_role("button", name="Download PNG").click()
    assert found.value.suggested_filename == "line.png"
    with open(found.value.path(), "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"


def test_a_legend_names_few_runs_hides_them_on_a_click_and_is_left_out_for_many(open_view, page):
    open_view(project="odd", regex="^nan$")
    item = card(page, "nan").get_by_role("button", name="Hide strange")
    item.click()
    wait_for_chart(page, "nan", "c.lines.length === 2")
    expect(page.get_by_label("Draw strange")).not_to_be_checked()
    page.goto(page.url.split("?")[0] + "?project=bench")
    wait_for_chart(page, "train/m0", "c.lines.length === 20")
    expect(card(page, "train/m0").locator(".tl-legend-item")).to_have_count(0)


def test_a_run_under_the_pointer_stands_out_in_every_chart(open_view, page):
    open_view(project="odd", regex="^nan$")
    wait_for_chart(page, "nan", "c.lines.length === 3")
    page.locator(".tl-run", has_text="strange").hover()
    wait_for_chart(page, "nan", "c.lines.filter((line) => line.isFaded).length === 2 && !c.lines.at(-1).isFaded")
    page.locator(".tl-brand").hover()
    wait_for_chart(page, "nan", "c.lines.every((line) => !line.isFaded)")
