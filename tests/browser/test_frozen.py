"""A frozen dashboard behind plain static servers: it looks and answers like the live one, without it."""

import csv
import json
import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

import trackio_like as trackio
from tests.browser.charts import card, chart, drag, points, wait_for_chart
from tests.browser.fill import NASTY
from tests.freeze.static_server import static_server
from trackio_like._freeze import freeze


@pytest.fixture(scope="module")
def folder(board, tmp_path_factory):
    target = tmp_path_factory.mktemp("site") / "sub path" / "frozen"
    freeze(["odd", "spike", "bench", "many"], folder=target, root=board.root)
    return target


@pytest.fixture(params=[True, False], ids=["parts", "whole"])
def site(request, folder):
    """The copy below another path of a static server, which sends parts of files or whole ones only."""
    with static_server(folder.parents[1], sends_parts=request.param) as server:
        server.sends_parts = request.param
        server.base = f"{server.url}sub%20path/frozen/"
        yield server


@pytest.fixture
def open_copy(page, site):
    def show(wait_for='[data-ready="1"]', **view):
        page.goto(f"{site.base}?{urlencode(view)}")
        if wait_for:
            page.wait_for_selector(wait_for)
        return page

    return show


def test_charts_are_drawn_with_the_numbers_that_the_api_has(open_copy, page, board):
    open_copy(project="bench")
    wait_for_chart(page, "train/m0", "c.lines.length === 20 && c.layers.base.isLoaded")
    name = chart(page, "train/m0", "TL.store.runs.get(c.lines[0].run).name")
    buckets = chart(page, "train/m0", "c.buckets(20)")
    wanted = trackio.Api(board.root).run("bench", name).series("train/m0", max_points=2 * buckets)
    assert points(page, "train/m0") == (wanted.x.tolist(), wanted.y.tolist())


def test_odd_values_are_marked_and_texts_stay_texts(open_copy, page):
    open_copy(project="odd")
    wait_for_chart(page, "nan", "c.lines.length === 3")
    expect(card(page, "nan")).to_contain_text("NaN or Inf")
    expect(card(page, NASTY)).to_have_count(0)  # out of sight, and made only when it is scrolled to
    page.mouse.move(800, 500)
    page.mouse.wheel(0, 3000)
    wait_for_chart(page, NASTY, "c.lines.length === 1")
    assert "pwn" not in page.title()


def test_an_overview_keeps_the_spike_and_zoom_fetches_every_point(open_copy, page, site):
    open_copy(project="spike", size="l")
    wait_for_chart(page, "l", "c.lines.length === 1")
    assert chart(page, "l", "Math.max(...c.lines[0].y.subarray(0, c.lines[0].length))") == 100
    asked = " ".join(path for path, _ in site.asked)
    assert "metrics-step-0001" in asked
    assert "/metrics-0001" not in asked
    drag(page, "l", 56_000, 57_000)
    wait_for_chart(page, "l", "c.lines[0]?.numPoints < 3000")
    assert "zoom=" in page.url
    assert "/metrics-0001" in " ".join(path for path, _ in site.asked)
    assert chart(page, "l", "c.lines[0].y.subarray(0, c.lines[0].length).includes(100)")
    page.reload()
    wait_for_chart(page, "l", "c.lines[0]?.numPoints < 3000")


@pytest.mark.parametrize("axis", ["relative", "time", "metric:epoch"])
def test_other_axes_are_drawn(open_copy, page, axis):
    open_copy(project="odd", x=axis)
    wait_for_chart(page, "line", "c.settings.xKind !== 'step' && c.layers.base.isLoaded")


def test_the_table_of_runs_and_a_run_are_filled(open_copy, page):
    open_copy(wait_for=".tl-table-row", project="odd", tab="runs")
    expect(page.locator(".tl-table-row")).to_have_count(3)
    expect(page.locator(".tl-table-row", has_text="strange")).to_contain_text("9223372036854775807")
    page.locator(".tl-table-row .tl-run-name", has_text="strange").click()
    expect(page.locator('.tl-run-page [data-part="alerts"]')).to_contain_text("Loss is high")
    expect(page.locator('.tl-run-page [data-part="texts"]')).to_contain_text("warm-up")
    expect(page.locator('.tl-run-page [data-summary="tokens"]')).to_contain_text("9,007,199,254,740,993")
    assert "tab=run" in page.url


def test_csv_files_hold_every_row(open_copy, page, tmp_path, board):
    open_copy(project="odd")
    wait_for_chart(page, "inf", "c.lines.length === 1")
    card(page, "inf").hover()
    card(page, "inf").get_by_label("Scale, range, download").click()
    with page.expect_download() as downloading:
        page.get_by_text("Download CSV (all points)").click()
    downloading.value.save_as(tmp_path / "rows.csv")
    rows = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    history = trackio.Api(board.root).run("odd", "strange").history("inf")
    assert [float(row["value"]) for row in rows] == history["value"].to_pylist()
    assert [int(row["step"]) for row in rows] == history["step"].to_pylist()


def test_the_page_says_that_it_is_a_copy_and_of_when_and_asks_for_nothing_by_itself(open_copy, page, site, folder):
    open_copy(project="many")
    wait_for_chart(page, "loss", "c.lines.length > 0")
    expect(page.locator(".tl-frozen-note")).to_have_text(re.compile(r"Frozen copy, \d{4}-\d\d-\d\d \d\d:\d\d UTC"))
    rounds, num = page.evaluate("TL.poller.rounds"), len(site.asked)
    # Long enough for a page that polls: its own clock is the condition.
    page.wait_for_function("start => performance.now() > start + 2500", arg=page.evaluate("performance.now()"))
    assert (page.evaluate("TL.poller.rounds"), len(site.asked)) == (rounds, num)
    mark = json.loads((folder / "trackio_like.json").read_text())
    assert (mark["app"], mark["is_static"]) == ("trackio_like", True)


def test_themes_the_sidebar_and_the_keyboard_work_without_gradio(open_copy, page):
    open_copy(project="odd", theme="dark")
    assert page.evaluate("document.body.classList.contains('dark')")
    page.locator('[data-role="theme"]').click()
    assert not page.evaluate("document.body.classList.contains('dark')")
    page.locator("#tl-sidebar .toggle-button").click()
    expect(page.locator("#tl-sidebar")).not_to_have_class(re.compile(r"\bopen\b"))
    page.get_by_role("tab", name="Metrics").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Runs")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".tl-table-row").first).to_be_visible()
    assert "tab=runs" in page.url


def test_a_missing_project_and_a_missing_file_are_said(open_copy, page, faults):
    open_copy(wait_for=".tl-welcome h1", project="nowhere")
    expect(page.locator(".tl-welcome h1")).to_have_text('There is no project "nowhere" here')
    page.get_by_role("button", name="odd").click()
    wait_for_chart(page, "line", "c.lines.length === 1")
    page.route("**/run.json", lambda route: route.fulfill(status=404, body=""))
    page.get_by_role("tab", name="Run", exact=True).click()
    expect(page.locator(".tl-runview")).to_contain_text("The server answered 404")
    assert [fault for fault in faults if "404" in fault] == faults
    faults.clear()


def test_on_a_narrow_screen_the_sidebar_is_closed_at_first(new_page, site):
    page = new_page(viewport={"width": 400, "height": 800})
    page.goto(f"{site.base}?project=odd")
    page.wait_for_selector('[data-ready="1"]')
    expect(page.locator("#tl-sidebar")).not_to_have_class(re.compile(r"\bopen\b"))


def test_opened_as_a_file_the_page_says_what_it_needs(browser, folder):
    context = browser.new_context()
    page = context.new_page()
    page.goto((folder / "index.html").as_uri())
    expect(page.get_by_role("alert")).to_contain_text("This page needs a web server")
    context.close()
