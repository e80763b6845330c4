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
    expect(card(page, "line")).to_be_focused()


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


def test_few_cards_fill_the_row_and_a_lone_one_stays_readable(log, open_view, page):
    with log.init(project="rows", name="one") as run:
        run.log({"train/a": 1, "train/b": 1, "lone": 1, "val/a": 1, "val/b": 1, "val/c": 1, "val/d": 1})
    open_view(project="rows")
    grid = page.locator(".tl-grid").bounding_box()
    boxes = {key: card(page, key).bounding_box() for key in ("lone", "train/a", "train/b")}
    assert boxes["lone"]["width"] <= 800
    assert abs(boxes["train/b"]["x"] + boxes["train/b"]["width"] - grid["x"] - grid["width"]) < 3
    assert boxes["train/a"]["width"] == boxes["train/b"]["width"] > 500
    assert len({box["height"] for box in boxes.values()}) == 1
    page.evaluate("window.scrollTo(0, 2000)")
    places = [card(page, f"val/{name}").bounding_box() for name in "abcd"]
    assert [place["y"] - places[0]["y"] > 0 for place in places] == [False, False, True, True]


def test_long_names_keep_their_ends_in_a_legend_of_one_line(log, open_view, page):
    for i in range(4):
        with log.init(project="legends", name=f"model-{'x' * 140}-seed{i}") as run:
            run.log({"l": float("nan") if i == 1 else float(i)}, step=0)
    open_view(project="legends", size="s")
    wait_for_chart(page, "l", "c.lines.length === 4")
    legend = card(page, "l").locator(".tl-legend")
    assert legend.bounding_box()["height"] <= 20
    for i, item in enumerate(reversed(legend.locator(".tl-legend-item").all())):
        expect(item.locator(".tl-legend-name")).to_have_text(f"…seed{i}")
        expect(item).to_have_attribute("aria-label", f"Hide model-{'x' * 140}-seed{i}")
        name = item.locator(".tl-legend-name").evaluate("(node) => [node.scrollWidth, node.clientWidth]")
        assert name[0] <= name[1], "a name is cut"
    expect(legend.locator(".tl-legend-odd")).to_have_text("×1")


def test_the_axis_is_named_in_the_card_and_in_the_large_chart(open_view, page):
    open_view(project="odd", regex="^(line|val/acc)$")
    expect(card(page, "line").locator(".tl-axis")).to_have_text("step")
    expect(card(page, "val/acc").locator(".tl-axis")).to_have_text("epoch")
    wait_for_chart(page, "val/acc", "c.plot.axes[0]._values.join() === '0,1,2'")
    card(page, "val/acc").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").locator(".tl-axis")).to_have_text("epoch")


def test_a_chart_that_cannot_be_drawn_leaves_the_others_alone(log, open_view, page, faults):
    with log.init(project="isolated", name="one") as run:
        for step in range(3):
            run.log({"a": step, "b": step}, step=step)
        open_view(project="isolated")
        wait_for_chart(page, "b", "c.lines[0].length === 3")
        page.evaluate("""() => {
            [...TL.charts].find((c) => c.key === "a").draw = () => { throw new Error("broken chart"); };
        }""")
        run.log({"a": 3, "b": 3}, step=3)
        wait_for_chart(page, "b", "c.lines[0].length === 4 && c.x[1] === 3")
    assert faults
    assert all("broken chart" in fault for fault in faults)
    faults.clear()
