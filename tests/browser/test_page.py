"""The page as a whole: live, zoom, links, theme, lost connection, empty root."""

import json
import urllib.request
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from tests.browser.charts import card, chart, drag, points, wait_for_chart
from tests.browser.conftest import serve
from tests.flow.conftest import until

WATCH_REMOVALS = """() => {
    window.removed = 0;
    const count = (node) => { if (node.querySelector?.("canvas") || node.tagName === "CANVAS") window.removed++; };
    new MutationObserver((list) => list.forEach((change) => change.removedNodes.forEach(count)))
        .observe(document.querySelector(".tl-grid"), { childList: true, subtree: true });
}"""


def view_of(page):
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def most_recent(board):
    with urllib.request.urlopen(f"{board.url}t/meta", timeout=5) as answer:
        return json.load(answer)["projects"][0]["name"]


def test_the_most_recently_active_project_opens_and_new_ones_join_the_list(log, page, board):
    with log.init(project="newest", name="first") as run:
        run.log({"a": 1})
    # The server keeps its list of projects for a second.
    until(lambda: most_recent(board) == "newest")
    page.goto(board.url)
    expect(page.get_by_label("Project")).to_have_value("newest")
    wait_for_chart(page, "a", "c.lines.length === 1")
    with log.init(project="later", name="second") as run:
        run.log({"b": 1})
    expect(page.get_by_label("Project").locator("option[value=later]")).to_have_count(1)
    expect(page.get_by_label("Project")).to_have_value("newest")
    page.get_by_label("Project").select_option("later")
    wait_for_chart(page, "b", "c.lines.length === 1")


def test_what_is_logged_is_seen_by_itself_and_no_chart_is_rebuilt(log, open_view):
    with log.init(project="live", name="growing") as run:
        for step in range(5):
            run.log({"l": 1.0, "m": 2.0}, step=step)
        page = open_view(project="live")
        wait_for_chart(page, "l", "c.lines.length === 1 && c.lines[0].length === 5")
        page.evaluate(WATCH_REMOVALS)
        for step in range(5, 11):
            run.log({"l": float(step), "m": 2.0}, step=step)
            wait_for_chart(page, "l", f"c.lines[0].length === {step + 1}")
    assert page.evaluate("window.removed") == 0
    assert points(page, "l")[1][-1] == 10


def test_zoom_fetches_the_window_and_outlives_polls_new_data_and_a_reload(log, open_view, page):
    with log.init(project="zoomed", name="long") as run:
        for step in range(5000):
            run.log({"l": float(step % 7), "m": 1.0}, step=step)
        open_view(project="zoomed", size="l")
        wait_for_chart(page, "l", "c.lines.length === 1")
        drag(page, "l", 1000, 1200)
        wait_for_chart(page, "l", "c.lines[0].numPoints < 300 && c.lines[0].isExact")
        zoom = json.loads(view_of(page)["zoom"])["*step"]
        assert abs(zoom[0] - 1000) < 20
        assert abs(zoom[1] - 1200) < 20
        wait_for_chart(page, "m", f"c.x[0] === {zoom[0]}")
        rounds = page.evaluate("TL.poller.rounds")
        run.log({"l": 1.0}, step=6000)
        page.wait_for_function(f"TL.poller.rounds > {rounds + 3}")
        assert chart(page, "l", "c.x") == zoom
        page.reload()
        wait_for_chart(
            page, "l", f"c.lines.length === 1 && c.x[0] === {zoom[0]} && c.x[1] === {zoom[1]} && c.lines[0].isExact"
        )
        card(page, "l").locator(".u-over").dblclick()
        wait_for_chart(page, "l", "c.x[1] === 6000")
        assert "zoom" not in view_of(page)


def test_a_zoom_can_be_for_one_chart_alone(open_view, page):
    open_view(project="odd", regex="^(line|constant)$")
    page.get_by_label("Zoom together").uncheck()
    wait_for_chart(page, "line", "c.lines.length === 1")
    drag(page, "line", 20, 40)
    wait_for_chart(page, "line", "c.x[1] < 50")
    assert chart(page, "constant", "c.x") == [0, 99]
    page.locator("[data-role=zoom]").click()
    wait_for_chart(page, "line", "c.x[1] === 99")


def test_a_link_shows_the_same_view(open_view, page, new_page):
    open_view(project="bench")
    page.get_by_label("Draw run-3", exact=True).uncheck()
    page.get_by_role("slider", name="Smoothing").fill("0.5")
    page.get_by_label("y scale", exact=True).select_option("log")
    page.get_by_label("Group runs by").select_option("group")
    page.get_by_label("Filter metrics").fill("m1$")
    page.get_by_title("Large charts").click()
    page.locator("[data-role=copy-link]").click()
    expect(page.locator("[data-role=copy-link]")).to_have_attribute("data-copied", page.url)
    other = new_page()
    other.goto(page.url)
    wait_for_chart(
        other, "train/m1", "c.lines.length === 19 && c.settings.smoothing === 0.5 && c.settings.yScale === 'log'"
    )
    expect(other.get_by_label("Draw run-3", exact=True)).not_to_be_checked()
    expect(other.get_by_label("Group runs by")).to_have_value("group")
    expect(other.get_by_title("Large charts")).to_have_attribute("aria-pressed", "true")


def test_light_and_dark_are_switched_kept_and_redrawn(open_view, page):
    open_view(project="odd", regex="^line$")
    wait_for_chart(page, "line", "c.lines.length === 1")
    was_dark = page.evaluate("document.body.classList.contains('dark')")
    colour = chart(page, "line", "c.lines[0].colour")
    page.locator("[data-role=theme]").click()
    wait_for_chart(page, "line", f"c.lines[0].colour !== '{colour}'")
    assert page.evaluate("document.body.classList.contains('dark')") != was_dark
    page.reload()
    wait_for_chart(page, "line", "c.lines.length === 1")
    assert page.evaluate("document.body.classList.contains('dark')") != was_dark


def test_the_tabs_stay_in_reach_while_the_page_scrolls(open_view, page):
    open_view(project="bench")
    page.evaluate("window.scrollTo(0, 1500)")
    page.wait_for_function("window.scrollY > 1000")
    expect(page.get_by_role("tab", name="Runs", exact=True)).to_be_in_viewport()
    page.get_by_role("tab", name="Runs", exact=True).click()
    page.wait_for_selector(".tl-table-row")


def test_the_sidebar_can_be_left_out_for_embedding(open_view, page):
    open_view(project="odd", sidebar="hidden")
    expect(page.locator("#tl-sidebar")).to_be_hidden()
    assert page.evaluate("document.querySelector('.tl-grid').getBoundingClientRect().left") < 60


def test_on_a_narrow_screen_the_sidebar_starts_closed_and_a_tap_beside_it_closes_it(new_page, board):
    page = new_page(viewport={"width": 480, "height": 900}, has_touch=True)
    page.goto(board.link(project="odd"))
    page.wait_for_selector('[data-ready="1"]')
    expect(page.locator(".tl-card").first).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("tab", name="Runs", exact=True).click()
    page.wait_for_selector(".tl-table-row")
    assert page.locator(".tl-table").bounding_box()["x"] < 12
    page.get_by_role("tab", name="Metrics", exact=True).click()
    page.locator("#tl-sidebar .toggle-button").click()
    expect(page.get_by_label("Project")).to_be_in_viewport()
    page.locator(".tl-side-shade").tap(position={"x": 460, "y": 500})
    expect(page.get_by_label("Project")).not_to_be_in_viewport()
    expect(page.locator(".tl-side-shade")).to_be_hidden()


def test_long_names_do_not_widen_the_page_and_keep_their_ends(open_view, page):
    open_view(project="odd")
    long_name = page.locator(".tl-run .tl-name", has_text="-seed2")
    expect(long_name).to_have_attribute("title", "model-" + "x" * 150 + "-seed2")
    page.wait_for_function("""() => {
        const tail = document.querySelector(".tl-run [title$=-seed2] .tl-name-tail").getBoundingClientRect();
        const list = document.querySelector(".tl-run-list").getBoundingClientRect();
        return list.left >= 0 && tail.right <= list.right;
    }""")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_lost_connection_is_said_and_heals_by_itself(log, open_view, page, faults):
    with log.init(project="wobbly", name="on") as run:
        run.log({"l": 1.0}, step=0)
        open_view(project="wobbly")
        page.route("**/t/*", lambda route: route.abort())
        expect(page.get_by_role("alert")).to_contain_text("Connection lost")
        expect(card(page, "l")).to_be_visible()
        run.log({"l": 2.0}, step=1)
        page.unroute("**/t/*")
        expect(page.get_by_role("alert")).to_be_hidden()
        wait_for_chart(page, "l", "c.lines[0].length === 2")
    assert all("Failed to load resource" in fault for fault in faults)
    faults.clear()


def test_a_restarted_server_is_followed_without_a_reload(log, tmp_path, monkeypatch, page, faults):
    root = tmp_path / "again"
    monkeypatch.setenv("TRACKIO_DIR", str(root))
    with log.init(project="p", name="one") as run:
        run.log({"l": 1.0}, step=0)
    with serve(root) as first:
        page.goto(first.link(project="p"))
        wait_for_chart(page, "l", "c.lines.length === 1")
    expect(page.get_by_role("alert")).to_contain_text("Connection lost")
    with log.init(project="p", name="two") as run:
        run.log({"l": 2.0}, step=0)
    port = urlsplit(first.url).port
    with serve(root, port=port):
        expect(page.get_by_role("alert")).to_be_hidden(timeout=40_000)
        wait_for_chart(page, "l", "c.lines.length === 2")
        faults.clear()
        page.goto("about:blank")


def hide(page, is_hidden):
    page.evaluate(
        f"Object.defineProperty(document, 'hidden', {{ value: {is_hidden}, configurable: true }});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )


def test_a_hidden_page_asks_nothing(open_view, page):
    open_view(project="odd")
    hide(page, "true")
    page.wait_for_function("!TL.poller.isAsking")
    rounds = page.evaluate("TL.poller.rounds")
    page.wait_for_timeout(2500)
    assert page.evaluate("TL.poller.rounds") == rounds
    hide(page, "false")
    page.wait_for_function(f"TL.poller.rounds > {rounds}")


def test_only_what_is_seen_is_asked_for_and_an_idle_answer_is_small(open_view, page):
    open_view(project="keys")
    wait_for_chart(page, "grad/layer0/w", "c.lines.length === 1")
    rounds = page.evaluate("TL.poller.rounds")
    page.wait_for_function(f"TL.poller.rounds > {rounds + 1}")
    with page.expect_response("**/t/poll") as found:
        pass
    assert len(found.value.body()) <= 1000
    asked = found.value.request.post_data_json
    assert 1 <= len(asked["panels"]) <= 20
    assert all(panel["since"] > 0 for panel in asked["panels"])


def test_an_empty_root_says_what_to_type_and_shows_the_first_run_by_itself(log, tmp_path, monkeypatch, page):
    root = tmp_path / "empty root"
    monkeypatch.setenv("TRACKIO_DIR", str(root))
    with serve(root) as board:
        page.goto(board.url)
        expect(page.get_by_text("Waiting for the first run")).to_be_visible()
        expect(page.locator("[data-role=root]")).to_have_text(str(root))
        expect(page.locator(".tl-code pre")).to_contain_text("trackio.log({")
        exec(page.locator(".tl-code pre").inner_text(), {})
        wait_for_chart(page, "loss", "c.lines.length === 1 && c.lines[0].numPoints === 100")
        expect(page.get_by_text("Waiting for the first run")).to_be_hidden()
        page.goto("about:blank")


def test_a_link_to_a_project_that_is_not_there_offers_the_others(open_view, page, faults):
    open_view(wait_for=None, project="nowhere")
    expect(page.get_by_text('There is no project "nowhere" here (yet)')).to_be_visible()
    expect(page.locator(".tl-code pre")).to_contain_text('init(project="nowhere"')
    page.get_by_role("button", name="odd", exact=True).click()
    page.wait_for_selector('[data-ready="1"]')
    assert all("404" in fault for fault in faults)
    faults.clear()


def test_no_other_host_may_be_reached_from_the_page(open_view, page, faults):
    open_view(project="odd")
    assert page.evaluate("fetch('http://192.0.2.1/').then(() => 'reached', () => 'refused')") == "refused"
    assert any("Content Security Policy" in fault for fault in faults)
    faults.clear()
