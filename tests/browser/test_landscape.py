"""The Landscape tab: maps, curves, what is said of them, and what can be taken from them."""

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from tests.browser.fill import NASTY, bowl
from tests.browser.landscapes import (
    colour_at,
    link_of,
    num_colours,
    panel,
    point_at,
    stage,
    tip,
    wait_for_panel,
    wait_for_step,
)

LOWEST, HIGHEST = [68, 1, 84], [253, 231, 37]
"""The ends of viridis."""


@pytest.fixture
def open_land(open_view, page):
    """Opens the tab with some of its settings."""

    def show(run="alpha", name="bowl", **settings):
        open_view(wait_for=None, project="land", tab="landscape", landscape=json.dumps({"name": name, **settings}))
        wait_for_panel(page, "true")
        if run != "alpha":
            card(page, name, run).click()
            wait_for_panel(page, f"TL.store.runs.get(p.frame.run).name === '{run}'")
        return page

    return show


def card(page, name, run):
    return page.get_by_role("button", name=re.compile(f"^{re.escape(name)} of {re.escape(run)}, "))


def tip_text(page, part, side="a"):
    return tip(page, side).locator(f'[data-tip="{part}"]')


def more(page, label=None):
    page.get_by_label("Axes, levels, colours").click()
    return page.get_by_label(label, exact=True) if label else None


def export(page, item):
    page.get_by_role("button", name="Export").first.click()
    with page.expect_download() as found:
        page.get_by_role("button", name=item).click()
    return found.value


def test_every_landscape_of_the_selected_runs_has_a_card_and_a_click_shows_it(open_land, page):
    open_land()
    expect(page.locator(".tl-land-card")).to_have_count(4)
    card(page, "bowl", "beta").click()
    wait_for_panel(page, "p.frame.name === 'bowl' && TL.store.runs.get(p.frame.run).name === 'beta'")
    expect(card(page, "bowl", "beta")).to_have_attribute("aria-pressed", "true")
    page.wait_for_function("location.search.includes('landscape=')")
    page.reload()
    wait_for_panel(page, "TL.store.runs.get(p.frame.run).name === 'beta'")
    page.get_by_label("Draw beta", exact=True).uncheck()
    expect(page.locator(".tl-land-card")).to_have_count(2)


def test_small_pictures_are_drawn(open_land, page):
    open_land()
    page.wait_for_function(
        """() => [...document.querySelectorAll(".tl-land-card canvas")].every((canvas) => {
            const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            return new Set(new Uint32Array(data.buffer)).size > 1;
        })"""
    )


def test_cells_have_the_colours_of_their_losses(open_land, page):
    open_land(step=0, view="heat", scale="linear", marks=False)
    wait_for_step(page, 0)
    assert colour_at(page, 0.0, 0.0) == LOWEST
    assert colour_at(page, 1.0, 1.0) == HIGHEST
    assert colour_at(page, -1.0, -1.0) == HIGHEST


def test_one_range_holds_all_steps_and_each_step_may_have_its_own(open_land, page):
    open_land(view="heat", scale="linear", marks=False)
    wait_for_step(page, 40)
    assert colour_at(page, 1.0, 1.0) != HIGHEST, "the largest loss of the last step is not that of all"
    page.get_by_label("Range of the colours").select_option("frame")
    wait_for_panel(page, "p.host.settings.range === 'frame' && p.host.scaleOf(p.series, p.frame).high < 1")
    page.wait_for_function("!document.querySelector('.tl-land-note').textContent")
    assert colour_at(page, 1.0, 1.0) == HIGHEST
    assert link_of(page)["range"] == "frame"


def test_a_log_scale_and_another_map_change_the_colours(open_land, page):
    open_land(step=0, view="heat", scale="linear", marks=False)
    wait_for_step(page, 0)
    before = colour_at(page, 0.5, 0.0)
    page.get_by_label("Scale of the loss").select_option("log")
    wait_for_panel(page, "p.host.scaleOf(p.series, p.frame).isLog")
    page.wait_for_function("TL.pending.size === 0")
    assert colour_at(page, 0.5, 0.0) != before
    page.get_by_label("Colours", exact=True).select_option("grey")
    wait_for_panel(page, "p.host.settings.map === 'grey'")
    page.wait_for_function("TL.pending.size === 0")
    red, green, blue = colour_at(page, 0.5, 0.0)
    assert red == green == blue


def test_losses_below_0_have_a_shifted_log_scale_that_says_so(open_land, page):
    open_land(name=NASTY, scale="log")
    expect(page.locator(".tl-land-note").first).to_contain_text("A loss of 0 or below has no logarithm")
    assert "pwn" not in page.title()


@pytest.mark.parametrize(("view", "is_coloured", "has_lines"), [("heat", True, False), ("contours", False, True)])
def test_a_map_is_heat_or_contours_or_both(open_land, page, view, is_coloured, has_lines):
    open_land(step=0, marks=False)
    wait_for_step(page, 0)
    page.get_by_role("button", name={"heat": "Heat", "contours": "Contours"}[view], exact=True).click()
    wait_for_panel(page, f"p.root.dataset.view === '{view}'")
    assert (colour_at(page, 0.0, 0.0) == LOWEST) is is_coloured
    assert num_colours(page) > 5
    levels = panel(page, "p.host.settings.view === 'heat' ? [] : p.host.scaleOf(p.series, p.frame).levels(10)")
    assert bool(levels) is has_lines
    page.get_by_role("button", name="Both", exact=True).click()
    wait_for_panel(page, "p.root.dataset.view === 'both'")
    assert colour_at(page, 0.0, 0.0) == LOWEST


def test_both_axes_have_one_unit_of_length_unless_the_reader_fills_the_page(open_land, page):
    open_land()
    ratio = "((p.plot.px(1) - p.plot.px(0)) / (p.plot.py(0) - p.plot.py(1)))"
    assert abs(panel(page, ratio) - 1) < 0.01
    more(page, "Axes").select_option("fill")
    wait_for_panel(page, f"Math.abs({ratio} - 1) > 0.05")
    page.keyboard.press("Escape")


def test_the_pointer_reads_a_cell_exactly_and_where_it_comes_from(open_land, page):
    open_land(step=0)
    wait_for_step(page, 0)
    point_at(page, 0.21, 0.39)
    expect(tip_text(page, "δ (random)")).to_have_text("0.2")
    expect(tip_text(page, "η (random)")).to_have_text("0.4")
    landscape = bowl(8.0)
    expect(tip_text(page, "loss")).to_have_text(repr(float(landscape.z_RC[14, 12])))
    expect(tip_text(page, "origin")).to_have_text("interpolated")
    point_at(page, -0.2, 0.6)
    expect(tip_text(page, "origin")).to_have_text("measured")
    page.mouse.move(2, 2)
    expect(tip(page)).to_be_hidden()


def test_the_keyboard_moves_a_cursor_that_is_read_out(open_land, page):
    open_land(step=0)
    wait_for_step(page, 0)
    stage(page).focus()
    page.keyboard.press("ArrowRight")
    live = page.locator('[data-role="live"]').first
    expect(live).to_have_text("δ (random): 0, η (random): 0, loss: 0.1, interpolated")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    expect(live).to_contain_text("δ (random): 0.1, η (random): 0.1, loss: ")
    page.keyboard.press("Escape")
    expect(tip(page)).to_be_hidden()


def test_cells_without_a_number_are_hatched_and_say_what_they_are(open_land, page):
    open_land(run="beta", view="heat", marks=False)
    for x, text in ((-1.0, "not finite: inf"), (-0.9, "not finite: nan"), (-0.8, "not finite: -inf")):
        point_at(page, x, -1.0)
        expect(tip_text(page, "loss")).to_have_text(text)
    point_at(page, 1.0, 1.0)
    expect(tip_text(page, "loss")).to_have_text("not evaluated")
    page.mouse.move(2, 2)
    hatch = {tuple(colour_at(page, 0.9 + i / 400, 0.9)) for i in range(20)}
    assert len(hatch) > 1, "stripes have more than one colour"
    assert not hatch & {tuple(LOWEST), tuple(HIGHEST)}


def test_marks_and_the_path_are_drawn_and_named_and_can_be_put_away(open_land, page):
    open_land(step=0, view="heat")
    wait_for_step(page, 0)
    with_marks = num_colours(page)
    point_at(page, -0.4, 0.2)
    expect(tip_text(page, "path")).to_have_text("step 50")
    page.get_by_label("Marks").uncheck()
    wait_for_panel(page, "!p.host.settings.marks")
    page.wait_for_function("TL.pending.size === 0")
    assert num_colours(page) < with_marks


def test_measured_points_are_shown_on_demand(open_land, page):
    open_land(step=0, view="heat", marks=False)
    wait_for_step(page, 0)
    before = colour_at(page, 0.2, 0.2)
    page.get_by_label("Points", exact=True).check()
    wait_for_panel(page, "p.host.settings.dots")
    page.wait_for_function("TL.pending.size === 0")
    assert colour_at(page, 0.2, 0.2) == [255, 255, 255] != before
    assert link_of(page)["dots"] is True


def test_colours_can_leave_out_the_highest_losses_and_say_so(open_land, page):
    open_land(step=0, view="heat", scale="linear")
    wait_for_step(page, 0)
    more(page)
    page.get_by_role("button", name="Leave out the highest 2 %").click()
    note = page.locator(".tl-land-note").first
    expect(note).to_contain_text(re.compile(r"Colours are cut: \d+ cells above the scale"))
    more(page, "Colours from").fill("1")
    page.keyboard.press("Tab")
    expect(note).to_contain_text("below it")
    page.get_by_role("button", name="Colours from the least to the largest loss").click()
    expect(note).to_be_hidden()


def test_more_contours_are_drawn_on_request(open_land, page):
    open_land(step=0)
    more(page, "Contours").select_option("20")
    wait_for_panel(page, "p.host.settings.levels === 20")
    num = panel(page, "[5, 20].map((most) => p.host.scaleOf(p.series, p.frame).levels(most).length)")
    assert num[1] > num[0]


def test_a_landscape_of_one_row_is_a_curve_with_its_two_ends_named(open_land, page):
    open_land(name="between", step=0)
    wait_for_panel(page, "p.root.dataset.view === 'line'")
    expect(page.get_by_role("group", name="View")).to_be_hidden()
    wait_for_step(page, 0)
    box = stage(page).bounding_box()
    page.mouse.move(box["x"] + panel(page, "p.plot.px(0.5)"), box["y"] + 80)
    expect(tip_text(page, "from θ_a to θ_b")).to_have_text("0.5")
    expect(tip_text(page, "loss")).to_have_text("0.1625")
    expect(tip_text(page, "origin")).to_have_text("measured")


def test_two_runs_side_by_side_share_scale_cursor_and_step(open_land, page):
    open_land(step=20, scale="linear")
    wait_for_step(page, 20)
    page.get_by_role("button", name="Compare two steps, runs or names").click()
    wait_for_step(page, 15, "b")
    scale = "p.host.pictureOf(p.series, p.frame).scale"
    assert panel(page, f"{scale} === (({{ p }}) => {scale})({{ p: TL.landscape.panels.b }})")
    point_at(page, 0.4, -0.4)
    for side in "ab":
        expect(tip_text(page, "δ (random)", side)).to_have_text("0.4")
    expect(tip_text(page, "loss", "b")).not_to_have_text(tip_text(page, "loss").inner_text())
    page.get_by_label("Step", exact=True).first.fill("4")
    wait_for_step(page, 40)
    wait_for_step(page, 40, "b")
    page.get_by_label("Landscape to compare with").select_option(label=f"beta · {NASTY}")
    wait_for_panel(page, "p.frame.step === 3", "b")
    page.get_by_role("button", name="Compare two steps, runs or names").click()
    expect(stage(page, "b")).to_be_hidden()


def test_two_steps_of_one_landscape_are_compared(open_land, page):
    open_land()
    page.get_by_role("button", name="Compare two steps, runs or names").click()
    page.get_by_label("Landscape to compare with").select_option(label="alpha · bowl")
    page.get_by_label("Same step").uncheck()
    page.get_by_label("Step", exact=True).last.fill("1")
    wait_for_step(page, 10, "b")
    assert panel(page, "p.frame.step") == 40
    page.wait_for_function("location.search.includes('step2')")
    page.reload()
    wait_for_step(page, 10, "b")


def test_facts_warnings_and_everything_recorded_are_said(open_land, page):
    open_land()
    facts = page.locator(".tl-land-info").first
    expect(facts.locator('[data-fact="Measured"]')).to_contain_text("36 of 441 points, the others interpolated")
    expect(facts.locator('[data-fact="Error, estimated"]')).to_have_text("0.4 % of the range")
    expect(facts.locator('[data-fact="Loss at the centre"]')).to_have_text("0.1")
    facts.get_by_text("All that was recorded (5)").click()
    expect(facts.locator('[data-meta="mode"]')).to_contain_text("serial")
    expect(page.locator(".tl-land-warning")).to_have_count(0)
    card(page, "bowl", "beta").click()
    expect(page.locator(".tl-land-warning").first).to_contain_text("This landscape is partial")
    expect(page.locator(".tl-land-warning").nth(1)).to_contain_text("12 of 441 cells hold no number")
    expect(facts.locator('[data-fact="Not finite"]')).to_contain_text("3 of 441 cells")
    expect(facts.locator('[data-meta="note"]')).to_contain_text(NASTY)


def test_numbers_are_exported_exactly(open_land, page):
    open_land(run="beta")
    found = export(page, "JSON, grid and details")
    assert found.suggested_filename == "beta-bowl-step40.json"
    document = json.loads(Path(found.path()).read_text(encoding="utf-8"))
    landscape = bowl(3.0)
    assert document["z"][4] == landscape.z_RC[4].tolist()
    assert [item["value"] for item in document["not_finite"]] == ["inf", "nan", "-inf"]
    assert document["meta"]["is_complete"] is False
    rows = list(csv.DictReader(Path(export(page, "CSV, one row a cell").path()).read_text().splitlines()))
    assert len(rows) == 441
    assert [rows[i]["loss"] for i in (0, 1, 2, 440)] == ["inf", "nan", "-inf", ""]
    assert float(rows[100]["loss"]) == landscape.z_RC.ravel()[100]


def test_pictures_are_exported(open_land, page):
    open_land(step=0)
    wait_for_step(page, 0)
    with open(export(page, "PNG, a picture").path(), "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    root = ElementTree.parse(export(page, "SVG, a drawing").path()).getroot()
    svg = "{http://www.w3.org/2000/svg}"
    texts = [item.text for item in root.iter(f"{svg}text")]
    assert {"alpha · bowl · step 0", "δ (random)", "η (random)", "θ", "step 100", "loss (log)"} <= set(texts)
    assert len(list(root.iter(f"{svg}rect"))) > 200
    assert len(list(root.iter(f"{svg}path"))) > 10


def test_without_landscapes_the_tab_says_how_to_log_one(open_view, page):
    open_view(wait_for=None, project="spike", tab="landscape")
    expect(page.get_by_role("heading", name="No loss landscape here yet")).to_be_visible()
    expect(page.locator(".tl-land-empty pre").first).to_contain_text(
        "trackio.log_loss_landscape(model, loader, step=epoch)"
    )


def test_a_file_that_cannot_be_read_is_said_and_the_page_goes_on(open_view, page, faults):
    page.route("**/t/media**", lambda route: route.fulfill(status=404, json={"error": "The file is gone."}))
    open_view(wait_for=None, project="land", tab="landscape", landscape=json.dumps({"name": "bowl"}))
    expect(page.locator(".tl-land-message").first).to_have_text("Step 40 cannot be read: The file is gone.")
    page.unroute("**/t/media**")
    wait_for_step(page, 40)  # it is tried again by itself
    expect(page.locator(".tl-land-message").first).to_be_hidden()
    assert [fault for fault in faults if "404" in fault] == faults
    faults.clear()


def test_a_list_that_cannot_be_read_is_said_and_asked_for_again(open_view, page, faults):
    page.route("**/t/objects", lambda route: route.fulfill(status=500, json={"error": "The disk is gone."}))
    open_view(wait_for=None, project="land", tab="landscape")
    expect(page.locator(".tl-land-empty")).to_have_text("The landscapes cannot be listed: The disk is gone.")
    page.unroute("**/t/objects")
    wait_for_panel(page, "true")
    expect(page.locator(".tl-land-empty")).to_be_hidden()
    assert [fault for fault in faults if "500" in fault] == faults
    faults.clear()


def test_on_a_phone_nothing_is_wider_than_the_page(new_page, board):
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    page.goto(board.link(project="land", tab="landscape", landscape=json.dumps({"name": "bowl"})))
    wait_for_panel(page, "true")
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]
    assert panel(page, "p.plot.area.width") > 180


def test_a_dark_page_has_dark_pictures(open_view, page):
    open_view(
        wait_for=None,
        project="land",
        tab="landscape",
        theme="dark",
        landscape=json.dumps({"name": "bowl", "view": "contours", "marks": False}),
    )
    wait_for_panel(page, "true")
    dark = panel(page, "p.look.backRgb")
    page.locator('[data-role="theme"]').click()
    page.wait_for_function("!document.body.classList.contains('dark')")
    assert sum(dark) < 200 < sum(panel(page, "p.look.backRgb"))
