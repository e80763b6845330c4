"""The list of runs, the table of runs, the page of one run."""

import csv
import re

from playwright.sync_api import expect

from tests.browser.charts import wait_for_chart
from tests.browser.fill import NASTY

_BY_PLACE = ".sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top))"


def expect_cells(page, column, texts):
    """Waits until a column has these texts, from the top."""
    page.wait_for_function(
        f"""([column, texts]) => {{
            const rows = [...document.querySelectorAll(".tl-table-row")]{_BY_PLACE}.slice(0, texts.length);
            const found = rows.map((row) => row.querySelector(`[data-col="${{column}}"]`).textContent);
            return JSON.stringify(found) === JSON.stringify(texts);
        }}""",
        arg=[column, texts],
    )


def names_in_sidebar(page):
    return page.evaluate(
        f"[...document.querySelectorAll('.tl-run-list .tl-run')]{_BY_PLACE}"
        ".map((row) => row.querySelector('.tl-run-name').textContent)"
    )


def test_runs_are_listed_newest_first_and_can_be_filtered(open_view, page):
    open_view(project="bench")
    assert names_in_sidebar(page) == [f"run-{i}" for i in range(19, -1, -1)]
    page.get_by_label("Filter runs").fill("run-1[01]$")
    expect(page.locator(".tl-run")).to_have_count(2)
    expect(page.get_by_text("2 of 20 runs, 2 drawn")).to_be_visible()
    page.get_by_label("Filter runs").fill("run-1[")
    expect(page.get_by_text("Not a regular expression")).to_be_visible()


def test_what_is_ticked_is_drawn_and_a_new_run_joins(log, open_view, page):
    for name in ("one", "two"):
        with log.init(project="ticks", name=name) as run:
            run.log({"l": 1.0})
    open_view(project="ticks")
    wait_for_chart(page, "l", "c.lines.length === 2")
    page.get_by_label("Draw one").uncheck()
    wait_for_chart(page, "l", "c.lines.length === 1")
    with log.init(project="ticks", name="three") as run:
        run.log({"l": 1.0})
    wait_for_chart(page, "l", "c.lines.length === 2")
    expect(page.get_by_label("Draw three")).to_be_checked()
    expect(page.get_by_label("Draw one")).not_to_be_checked()
    page.get_by_label("Select all runs shown").first.check()
    wait_for_chart(page, "l", "c.lines.length === 3")


def test_groups_close_and_select_their_members(open_view, page):
    open_view(project="bench")
    page.get_by_label("Group runs by").select_option("group")
    group = page.locator(".tl-run-group[data-group=g1]")
    box = page.get_by_label("Select the group g1")
    expect(box).to_be_checked()
    page.get_by_label("Draw run-19", exact=True).uncheck()
    expect(box).to_have_js_property("indeterminate", True)
    box.click()
    expect(box).to_be_checked()
    box.uncheck()
    wait_for_chart(page, "train/m0", "c.lines.length === 10")
    group.get_by_label("Open or close the group").click()
    expect(page.get_by_label("Draw run-19", exact=True)).to_be_hidden()


def test_runs_are_grouped_by_config_and_by_each_tag(open_view, page):
    open_view(project="odd")
    page.get_by_label("Group runs by").select_option("config.max_iter")
    expect(page.locator('.tl-run-group[data-group="not set"]')).to_have_count(1)
    assert {"7", "None", "not set"} == {
        node.get_attribute("data-group") for node in page.locator(".tl-run-group").all()
    }
    page.get_by_label("Group runs by").select_option("tag")
    expect(page.locator('.tl-run-group[data-group="no tag"]')).to_have_count(1)
    assert {"x", "y", "no tag"} == {node.get_attribute("data-group") for node in page.locator(".tl-run-group").all()}


def test_colours_are_the_same_on_every_tab_and_the_readers_own_is_kept(open_view, page):
    open_view(project="odd", regex="^nan$")
    wait_for_chart(page, "nan", "c.lines.length === 3")
    run = page.evaluate("TL.store.ordered.find((run) => run.name === 'strange').id")
    page.get_by_label("Colour of strange").evaluate(
        "(input) => { input.value = '#123456'; input.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    wait_for_chart(page, "nan", f"c.lines.find((line) => line.run === '{run}').colour === '#123456'")
    page.get_by_role("tab", name="Runs").click()
    expect(page.locator(f".tl-table-row[data-run='{run}'] .tl-swatch")).to_have_css(
        "background-color", "rgb(18, 52, 86)"
    )
    page.locator(f".tl-table-row[data-run='{run}'] .tl-run-name").click()
    expect(page.locator(".tl-run-head .tl-swatch")).to_have_css("background-color", "rgb(18, 52, 86)")
    page.reload()
    expect(page.locator(".tl-run-head .tl-swatch")).to_have_css("background-color", "rgb(18, 52, 86)")


def test_the_table_sorts_by_size_and_tells_none_from_never_set(open_view, page):
    open_view(wait_for=".tl-table-row", project="odd", tab="runs")
    page.locator("[data-sort='config.lr']").click()
    expect_cells(page, "config.lr", ["1e-5", "0.02", "0.1"])
    page.locator("[data-sort='config.lr']").click()
    expect_cells(page, "config.lr", ["0.1", "0.02", "1e-5"])
    page.locator("[data-sort='config.max_iter']").click()
    expect_cells(page, "config.max_iter", ["7", "None", "–"])
    expect(page.locator(".tl-none")).to_have_text("None")
    expect(page.locator("[data-col='config.seed']", has_text="9223372036854775807")).to_have_count(1)
    assert "sort=config.max_iter" in page.url


def test_name_state_settings_and_last_values_are_seen_first(log, open_view, page):
    for i in range(3):
        config = {"learning_rate": 0.1 / (i + 1), "optimizer": "adam", "width": 64 * i, "same": 1}
        with log.init(project="first", name=f"run-{i}", config=config) as run:
            run.log(
                {"train/loss": 0.1234 * i, "val/accuracy": 0.5, "tokens": 2**53 + 1, "samples": 1_234_567_890}, step=9
            )
    open_view(wait_for=".tl-table-row", project="first", tab="runs")
    heads = page.locator(".tl-table-head [data-sort]").evaluate_all("(list) => list.map((head) => head.dataset.sort)")
    assert heads[:4] == ["name", "state", "config.learning_rate", "config.width"]
    assert heads[4:8] == ["last.samples", "last.tokens", "last.train/loss", "last.val/accuracy"]
    assert "group" not in heads, "a column without a value"
    right = page.locator(".tl-table").bounding_box()["x"] + page.locator(".tl-table").bounding_box()["width"]
    for head in ("last.val/accuracy", "created"):
        box = page.locator(f"[data-head='{head}']").bounding_box()
        assert box["x"] + box["width"] <= right
    expect_cells(page, "last.tokens", ["9,007,199,254,740,993"] * 3)
    expect_cells(page, "last.samples", ["1,234,567,890"] * 3)
    created = page.locator(".tl-table-row [data-col=created]").first
    expect(created).to_have_text(re.compile(r"^\d\d:\d\d$"))
    expect(created).to_have_attribute("title", re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$"))


def test_long_settings_that_differ_at_the_end_look_different(log, open_view, page):
    for i in range(2):
        with log.init(project="paths", name=f"run-{i}", config={"data": f"s3://bucket/{'x' * 80}/part-{i}"}) as run:
            run.log({"l": i})
    open_view(wait_for=".tl-table-row", project="paths", tab="runs")
    cells = page.locator(".tl-table-row [data-col='config.data']")
    expect(cells.filter(has_text="part-0")).to_have_attribute("title", f"s3://bucket/{'x' * 80}/part-0")
    expect(cells.filter(has_text="part-1")).to_have_count(1)
    assert cells.first.evaluate("(cell) => cell.scrollWidth <= cell.clientWidth"), "the end is cut"


def test_the_name_stays_while_the_table_scrolls_sideways_and_the_edges_tell_of_more(open_view, page):
    page.set_viewport_size({"width": 900, "height": 700})
    open_view(wait_for=".tl-table-row", project="odd", tab="runs")
    frame, table = page.locator(".tl-table-frame"), page.locator(".tl-table")
    expect(frame).to_have_class(re.compile("tl-more-right"))
    before = page.locator(".tl-table-row [data-col=name]").first.bounding_box()["x"]
    table.evaluate("(table) => { table.scrollLeft = table.scrollWidth; }")
    expect(frame).to_have_class(re.compile("tl-more-left"))
    expect(frame).not_to_have_class(re.compile("tl-more-right"))
    assert page.locator(".tl-table-row [data-col=name]").first.bounding_box()["x"] == before
    assert page.locator("[data-head=name]").bounding_box()["x"] == before


def test_states_differ_by_shape_and_say_their_word(open_view, page):
    open_view(project="odd")
    expect(page.locator(".tl-run .tl-state").first).to_have_attribute("title", "finished")
    shapes = page.evaluate("""() => {
        const node = document.querySelector(".tl-run .tl-state");
        return ["running", "finished", "failed", "crashed", "terminated"].map((state) => {
            node.dataset.state = state;
            const look = getComputedStyle(node, "::before");
            return look.maskImage + look.borderRadius;
        });
    }""")
    assert len(set(shapes)) == 5


def test_hundreds_of_rows_scroll_with_few_in_the_page(open_view, page):
    open_view(wait_for=".tl-table-row", project="many", tab="runs")
    expect(page.locator(".tl-runs .tl-count")).to_have_text("300 runs")
    assert page.locator(".tl-table-row").count() < 60
    expect_cells(page, "name", ["sweep-299", "sweep-298"])
    page.locator(".tl-table").evaluate("(table) => { table.scrollTop = table.scrollHeight; }")
    expect(page.locator(".tl-table-row", has_text="sweep-0")).to_be_visible()
    page.locator("[data-sort='config.size']").click()
    page.locator(".tl-table").evaluate("(table) => { table.scrollTop = 0; }")
    expect(page.locator(".tl-table-row").filter(has=page.get_by_text("sweep-0", exact=True))).to_be_visible()


def test_the_table_is_live_and_its_selection_is_the_sidebars(log, open_view, page):
    with log.init(project="table", name="alive") as run:
        run.log({"l": 1.0}, step=0)
        open_view(wait_for=".tl-table-row", project="table", tab="runs")
        row = page.locator(".tl-table-row")
        expect(row.locator("[data-col=state]")).to_have_text("running")
        expect(row.locator("[data-col='last.l']")).to_have_text("1")
        run.log({"l": 0.25}, step=7)
        expect(row.locator("[data-col='last.l']")).to_have_text("0.25")
        expect(row.locator("[data-col=step]")).to_have_text("7")
        row.get_by_label("Draw alive").uncheck()
        expect(page.locator(".tl-run").get_by_label("Draw alive")).not_to_be_checked()
    expect(row.locator("[data-col=state]")).to_have_text("finished")


def test_columns_are_chosen_and_downloaded_with_all_digits(open_view, page):
    open_view(wait_for=".tl-table-row", project="odd", tab="runs")
    page.get_by_role("button", name="Choose the columns").click()
    page.get_by_label("Find a column").fill("tokens")
    page.locator("[data-column='last.tokens']").check()
    page.get_by_label("Find a column").fill("group")
    page.locator("[data-column='group']").uncheck()
    page.keyboard.press("Escape")
    expect(page.locator("[data-sort='last.tokens']")).to_be_visible()
    expect(page.locator("[data-sort=group]")).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the table as CSV").click()
    with open(download.value.path(), newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert rows["strange"]["config.seed"] == "9223372036854775807"
    assert rows["strange"]["config.max_iter"] == "None"
    assert rows[NASTY]["config.seed"] == ""
    page.reload()
    expect(page.locator("[data-sort='last.tokens']")).to_be_visible()


def test_the_page_of_a_run_shows_who_it_is_and_what_it_logged(open_view, page):
    open_view(project="odd")
    page.locator(".tl-run .tl-run-name", has_text="strange").click()
    body = page.locator(".tl-run-page")
    expect(body.locator("h2")).to_have_text("strange")
    expect(body.locator("[data-part=top]")).to_contain_text("finished")
    expect(body.locator("[data-part=about]")).to_contain_text("fill.py")
    expect(body.locator("tr[data-config=seed]")).to_contain_text("9223372036854775807")
    expect(body.locator("tr[data-summary=tokens] td").nth(1)).to_have_text("9,007,199,254,740,993")
    expect(body.locator("tr[data-config=max_iter]")).to_contain_text("None")
    expect(body.locator("tr[data-config=note]")).to_contain_text(NASTY)
    expect(body.locator("tr[data-summary=nan]")).to_have_text(re.compile(r"^nanNaN1465040$"))
    expect(body.locator("[data-part=attempts]")).to_contain_text("Writers")
    expect(body.locator("[data-part=alerts]")).to_contain_text("Loss is high")
    expect(body.locator("[data-part=alerts]")).to_contain_text(NASTY)
    expect(body.locator("[data-part=texts]")).to_contain_text("warm-up")
    assert page.title() == "odd · trackio_like"
    page.get_by_label("Filter config, summary and texts").fill("seed")
    expect(body.locator("tr[data-config]")).to_have_count(1)
    copy = body.get_by_label("Copy the id")
    copy.click()
    expect(copy).to_have_attribute("data-copied", page.evaluate("TL.state.run"))
    assert "tab=run" in page.url


def test_a_runs_charts_are_one_click_from_its_page(open_view, page):
    open_view(wait_for=".tl-run-head", project="odd", tab="run")
    page.get_by_role("button", name="Draw this run alone").click()
    expect(page.get_by_role("tab", name="Metrics", exact=True)).to_have_attribute("aria-selected", "true")
    wait_for_chart(page, "nan", "c.lines.length === 1")


def test_the_page_of_a_run_follows_it_while_it_runs(log, open_view, page):
    with log.init(project="followed", name="moving") as run:
        run.log({"l": 1.0}, step=0)
        open_view(wait_for=".tl-run-head", project="followed", tab="run")
        expect(page.locator("tr[data-summary=l]")).to_contain_text("1")
        run.log({"l": 0.5}, step=1)
        expect(page.locator("tr[data-summary=l]")).to_have_text("l0.50.512")
    expect(page.locator(".tl-run-head")).to_contain_text("finished")
