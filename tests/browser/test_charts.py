"""What charts show of values that are hard to draw."""

import json
import re

from playwright.sync_api import expect

from tests.browser.charts import card, chart, hover, num_pixels, points, ticks, wait_for_chart
from tests.browser.fill import NASTY


def colour_of(page, key):
    return chart(page, key, "c.lines.find((l) => TL.store.runs.get(l.run).name === 'strange').colour")


def test_nan_breaks_the_line_leaves_a_mark_at_the_bottom_and_is_counted(open_view):
    page = open_view(project="odd", regex="^nan$")
    wait_for_chart(page, "nan", "c.lines.length === 3")
    expect(card(page, "nan").locator(".tl-note")).to_contain_text("40 NaN or Inf")
    expect(card(page, "nan").locator(".tl-legend-odd")).to_have_text("×40")
    expect(card(page, "nan").locator(".tl-legend-odd")).to_have_attribute("title", "40 NaN or Inf")
    colour = colour_of(page, "nan")
    assert num_pixels(page, "nan", colour, "y > 0.9") > 200, "no marks at the bottom"
    assert num_pixels(page, "nan", colour, "y < 0.85") < 400, "the gaps are bridged by a line"
    assert num_pixels(page, "nan", colour, "y < 0.85") > 20, "the lonely points are not dots"
    tooltip = hover(page, "nan", 12)
    expect(tooltip).to_contain_text("NaN")


def test_infinities_are_marked_at_the_edge_they_run_to(open_view):
    page = open_view(project="odd", regex="^inf$")
    wait_for_chart(page, "inf", "c.lines.length === 1")
    x, y = points(page, "inf")
    assert y[x.index(20)] == "Infinity"
    assert num_pixels(page, "inf", colour_of(page, "inf"), "x > 0.36 && x < 0.46 && y < 0.08") > 10
    expect(hover(page, "inf", 20)).to_contain_text("Infinity")


def test_integers_beyond_2_to_the_53_are_exact_in_the_tooltip(open_view):
    page = open_view(project="odd", regex="^tokens$")
    wait_for_chart(page, "tokens", "c.lines.length === 1")
    expect(hover(page, "tokens", 0)).to_contain_text("9,007,199,254,740,993")


def test_integers_around_2_to_the_53_have_ticks_that_differ(log, open_view, page):
    for i in range(4):
        with log.init(project="exact", name=f"run-{i}") as run:
            run.log({"tokens": 2**53 + 1 + i}, step=5)
    open_view(project="exact")
    wait_for_chart(page, "tokens", "c.lines.length === 4")
    labels = ticks(page, "tokens", 1)
    assert len(set(labels)) == len(labels) >= 2
    assert all(label.startswith("9,007,199,254,740,99") for label in labels)
    assert chart(page, "tokens", "c.plot.bbox.left / devicePixelRatio") > 120, "the labels are cut"


def test_a_single_point_is_a_visible_dot(open_view):
    page = open_view(project="odd", regex=re.escape("acc (%)"))
    wait_for_chart(page, "acc (%)", "c.lines.length === 1")
    assert num_pixels(page, "acc (%)", colour_of(page, "acc (%)")) > 20


def test_every_key_is_shown_whatever_characters_it_has(open_view):
    page = open_view(project="odd", size="s")
    page.set_viewport_size({"width": 1440, "height": 2400})
    for key in ("[train] Batch Loss", "acc (%)", "lr*wd", "a?b#c&d", NASTY):
        expect(card(page, key)).to_be_visible()
    assert page.title() == "odd · trackio_like"
    assert page.locator("img").count() == 0


def test_a_filter_is_a_regular_expression_and_comes_back_from_the_link(open_view, page):
    open_view(project="odd")
    search = page.get_by_label("Filter metrics")
    search.fill(r"\[train\]|^lr\*")
    expect(page.locator(".tl-card")).to_have_count(2)
    expect(page.locator(".tl-count").first).to_have_text(re.compile(r"2 of \d+ metrics"))
    page.reload()
    expect(search).to_have_value(r"\[train\]|^lr\*")
    expect(page.locator(".tl-card")).to_have_count(2)


def test_a_broken_pattern_says_so_and_searches_for_the_text(open_view, page):
    open_view(project="odd")
    page.get_by_label("Filter metrics").fill("acc (")
    expect(page.get_by_text("Not a regular expression")).to_be_visible()
    expect(page.locator(".tl-card")).to_have_count(1)
    page.get_by_label("Filter metrics").fill("no such metric")
    expect(page.get_by_text("No metric matches the filter")).to_be_visible()


def test_a_metric_with_its_own_axis_is_drawn_over_it(open_view):
    page = open_view(project="odd", regex="val/acc|train/loss")
    wait_for_chart(page, "val/acc", "c.lines.length === 1")
    assert points(page, "val/acc")[0] == [0, 1, 2]
    expect(card(page, "val/acc").locator(".tl-axis")).to_have_text("epoch")
    assert points(page, "train/loss")[0] == list(range(30))


def test_any_metric_can_be_the_axis(open_view, page):
    open_view(project="odd", regex="train/loss")
    page.get_by_label("x axis").select_option("metric:epoch")
    wait_for_chart(
        page, "train/loss", "c.settings.xKind === 'metric:epoch' && c.lines[0].x[0] === 0 && c.lines[0].x[29] === 2"
    )
    for axis, title in (("relative", "relative time"), ("time", "time")):
        page.get_by_label("x axis").select_option(axis)
        expect(card(page, "train/loss").locator(".tl-axis")).to_have_text(title)
        wait_for_chart(page, "train/loss", "c.lines.length === 1")


def test_steps_far_from_zero_have_real_ticks_and_the_ends_can_be_picked(open_view):
    page = open_view(project="odd", regex="^offset$", size="l")
    wait_for_chart(page, "offset", "c.lines.length === 1")
    labels = ticks(page, "offset", 0)
    assert labels
    assert all(10_000_000 <= int(label.replace(",", "")) <= 10_002_093 for label in labels)
    for step in (10_000_000, 10_002_093, 10_001_400):
        expect(hover(page, "offset", step)).to_contain_text(f"{step:,}")


def test_a_spike_and_both_ends_are_there_at_every_zoom(open_view, page):
    open_view(project="spike")
    wait_for_chart(page, "l", "c.lines.length === 1")
    x, y = points(page, "l")
    assert max(y) == 100
    assert x[y.index(100)] == 56_789
    assert (x[0], x[-1]) == (0, 99_999)
    expect(card(page, "l").locator(".tl-note")).to_have_text(re.compile(r"100,000 points, \d+ drawn"))
    page.evaluate("TL.set({ zoom: { '*step': [50000, 60000] } })")
    wait_for_chart(page, "l", "c.lines[0].numPoints === 10001")
    x, y = points(page, "l")
    assert max(y) == 100
    assert x[y.index(100)] == 56_789
    page.evaluate("TL.set({ zoom: { '*step': [56700, 56800] } })")
    wait_for_chart(page, "l", "c.lines[0].isExact && c.lines[0].numPoints === 101")
    assert points(page, "l")[0][1:-1] == list(range(56_700, 56_801)), "one point beyond either side leads the line out"


def test_a_window_without_points_says_so(open_view, page):
    open_view(project="odd", regex="^tokens$", zoom=json.dumps({"*step": [100, 200]}))
    expect(card(page, "tokens").locator(".tl-note")).to_have_text("no points in this window")


def test_a_log_axis_has_real_ticks_and_marks_what_it_cannot_show(open_view, page):
    open_view(project="odd", regex="^logy$")
    wait_for_chart(page, "logy", "c.lines.length === 1")
    page.get_by_label("y scale", exact=True).select_option("log")
    wait_for_chart(page, "logy", "c.settings.yScale === 'log'")
    expect(card(page, "logy").locator(".tl-note")).to_contain_text("2 at or below 0")
    assert {"1e-6", "1e-9"} & set(ticks(page, "logy", 1))
    assert num_pixels(page, "logy", colour_of(page, "logy"), "x > 0.7 && y > 0.9") > 10, "no marks for 0 and -5"
    page.get_by_label("y scale", exact=True).select_option("symlog")
    wait_for_chart(page, "logy", "c.settings.yScale === 'symlog'")
    expect(card(page, "logy").locator(".tl-note")).to_have_text("6 points")
    page.get_by_label("Log x").check()
    expect(card(page, "logy").locator(".tl-note")).to_contain_text("1 at x at or below 0")


def test_smoothing_keeps_a_constant_and_the_raw_line_behind_it(open_view, page):
    open_view(project="odd", regex="^(constant|line)$")
    page.get_by_role("slider", name="Smoothing").fill("0.9")
    wait_for_chart(page, "constant", "c.lines[0].smoothed !== null")
    assert chart(page, "constant", "c.lines[0].smoothed.every((value) => value === 1e-4)")
    assert chart(page, "line", "c.lines[0].smoothed[99] > 80 && c.lines[0].smoothed[99] < 99")
    expect(hover(page, "line", 50)).to_contain_text("value, smoothed")
    assert "smoothing=0.9" in page.url


def test_one_outlier_can_be_left_out_of_the_range_and_is_counted(open_view, page):
    open_view(project="odd", regex="^outlier$")
    wait_for_chart(page, "outlier", "c.y[1] > 1e19")
    page.get_by_label("Ignore outliers").check()
    wait_for_chart(page, "outlier", "c.y[1] < 2")
    expect(card(page, "outlier").locator(".tl-note")).to_contain_text("1 point outside")
    page.get_by_label("y from 0").check()
    wait_for_chart(page, "outlier", "c.y[0] === 0")


def test_one_chart_can_have_its_own_scale_and_range(open_view, page):
    open_view(project="odd", regex="^(line|constant)$")
    wait_for_chart(page, "line", "c.lines.length === 1")
    card(page, "line").hover()
    card(page, "line").get_by_label("Scale, range, download").click()
    page.get_by_label("Least y").fill("20")
    page.get_by_label("Largest y").fill("40")
    page.get_by_label("Largest y").press("Tab")
    wait_for_chart(page, "line", "c.y[0] === 20 && c.y[1] === 40")
    expect(card(page, "line").locator(".tl-note")).to_contain_text("79 points outside")
    assert chart(page, "constant", "c.y[1] < 1")
    page.reload()
    wait_for_chart(page, "line", "c.y[0] === 20 && c.y[1] === 40")
    assert json.loads(page.evaluate("new URLSearchParams(location.search).get('charts')")) == {
        "line": {"min": 20, "max": 40}
    }


def test_two_writers_of_one_run_have_a_line_each_and_it_is_said(log, open_view, board):
    from trackio_like.format.names import RunFolder
    from trackio_like.format.records import Header
    from trackio_like.journal.writer import JournalWriter

    with log.init(project="shared", name="twice") as run:
        run.log({"l": 0.0}, step=0)
        for i in range(100):
            run.log({"l": float(i)}, step=i)
        folder = RunFolder(root=board.root, project="shared", run_id=run.id)
        header = Header(
            project="shared",
            run_id=run.id,
            writer="other-1-ab",
            host="other",
            pid=1,
            process_started=0.0,
            attempt=1,
            rank=1,
            segment=1,
            first_seq=1,
        )
        other = JournalWriter(folder.journal, header)
        for i in range(100):
            other.metrics(i, ("l",), [100.0 - i])
        other.close()
    page = open_view(project="shared")
    wait_for_chart(page, "l", "c.lines.length === 2")
    expect(card(page, "l").locator(".tl-note")).to_contain_text("2 writers")
    assert sorted([points(page, "l", 0)[1][-1], points(page, "l", 1)[1][-1]]) == [1, 99]
