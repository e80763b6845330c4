"""Steps of a landscape: the slider, the replay, what is read for them, and what comes while one watches."""

import json
import statistics

from playwright.sync_api import expect

from tests.browser.fill import bowl
from tests.browser.landscapes import link_of, panel, stage, wait_for_panel, wait_for_step

SCRIPT_MS = 40
"""Script that one frame of a replay may take; at 25 frames a second, that is all there is."""

MEASURES = """(names) => names.map((name) => performance.getEntriesByName(name).map((entry) => entry.duration))"""


def open_bowl(page, board, project="land", **settings):
    view = {"name": "bowl", **settings}
    page.goto(board.link(project=project, tab="landscape", landscape=json.dumps(view)))
    wait_for_panel(page, "true")


def slider(page):
    return page.get_by_label("Step", exact=True).first


def test_the_slider_shows_real_steps_and_obeys_the_keyboard(page, board):
    open_bowl(page, board)
    expect(slider(page)).to_have_attribute("aria-valuetext", "step 40, 5 of 5")
    slider(page).focus()
    page.keyboard.press("ArrowLeft")
    wait_for_step(page, 30)
    expect(page.locator(".tl-land-step").first).to_have_text("step 30 · 4 of 5")
    page.keyboard.press("Home")
    wait_for_step(page, 0)
    page.wait_for_function("location.search.includes('step')")
    assert link_of(page)["step"] == 0
    stage(page).focus()
    page.keyboard.press(".")
    wait_for_step(page, 10)


def test_a_replay_shows_every_step_goes_round_and_stops(page, board):
    open_bowl(page, board, speed=20)
    page.evaluate("""() => {
        window.shown = [];
        new MutationObserver(() => window.shown.push(Number(TL.landscape.panels.a.root.dataset.step)))
            .observe(TL.landscape.panels.a.root, { attributes: true, attributeFilter: ["data-draws"] });
    }""")
    page.get_by_role("button", name="Play").first.click()
    page.wait_for_function("window.shown.filter((step) => step === 0).length >= 2")
    page.get_by_role("button", name="Pause").first.click()
    shown = page.evaluate("window.shown.filter((step, i, all) => step !== all[i - 1])")
    rounds = [shown[i + 1 : i + 5] for i, step in enumerate(shown[:-5]) if step == 0]
    assert rounds
    assert all(steps == [10, 20, 30, 40] for steps in rounds)
    rest = page.evaluate("window.shown.length")
    page.wait_for_function("(start) => performance.now() > start + 300", arg=page.evaluate("performance.now()"))
    assert page.evaluate("window.shown.length") <= rest + 1


def test_without_looping_a_replay_ends_at_the_newest_step(page, board):
    open_bowl(page, board, speed=20, step=20)
    wait_for_step(page, 20)
    page.get_by_label("Start again at the end").first.click()
    page.get_by_label("Frames per second").first.select_option("10")
    stage(page).focus()
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Play").first).to_be_visible()
    wait_for_step(page, 40)
    page.wait_for_function("!location.search.includes('%22step%22')")
    assert link_of(page)["speed"] == 10
    assert link_of(page)["loop"] is False


def test_one_file_is_read_at_a_time_and_few_are_read_ahead(page, board):
    asked = []
    page.on("request", lambda request: asked.append("+") if "/t/media" in request.url else None)
    page.on("requestfinished", lambda request: asked.append("-") if "/t/media" in request.url else None)
    open_bowl(page, board)
    wait_for_panel(page, "p.host.cache.loading === null && p.host.strip.wanted().length === 0")
    under_way = [asked[: i + 1].count("+") - asked[: i + 1].count("-") for i in range(len(asked))]
    assert max(under_way) == 1
    # Shown, the one before it, and the small pictures of the three others.
    assert asked.count("+") == 5


def test_the_script_of_a_replay_of_100_frames_is_short(log, page, board):
    with log.init(project="replay", name="long") as run:
        for step in range(100):
            run.log_loss_landscape(bowl(10 ** (2 - step / 50), n=51), name="bowl", step=step)
    for view in ("both", "3d"):
        open_bowl(page, board, project="replay", view=view, speed=20, step=0)
        wait_for_step(page, 0)
        page.evaluate("performance.clearMeasures()")
        page.get_by_role("button", name="Play").first.click()
        wait_for_step(page, 99)
        page.get_by_role("button", name="Pause").first.click()
        reads, frames = page.evaluate(MEASURES, ["landscape-read", "landscape-frame"])
        assert len(frames) >= 95
        assert statistics.median(frames) + statistics.median(reads) <= SCRIPT_MS


def test_new_steps_appear_by_themselves_and_move_only_who_looks_at_the_end(log, page, board):
    with log.init(project="growing-land", name="live") as run:
        run.log_loss_landscape(bowl(3.0), name="bowl", step=0)
        run.log_loss_landscape(bowl(2.0), name="bowl", step=5)
        open_bowl(page, board, project="growing-land")
        wait_for_step(page, 5)
        run.log_loss_landscape(bowl(1.0), name="bowl", step=10)
        wait_for_step(page, 10)
        slider(page).fill("0")
        wait_for_step(page, 0)
        run.log_loss_landscape(bowl(1.0), name="bowl", step=15)
        wait_for_panel(page, "p.series.frames.length === 4")
        assert panel(page, "p.root.dataset.step") == "0"
        expect(slider(page)).to_have_value("0")


def test_the_first_landscape_takes_the_place_of_the_hint(log, page, board):
    with log.init(project="first-land", name="live") as run:
        run.log({"loss": 1.0})
        page.goto(board.link(project="first-land", tab="landscape"))
        expect(page.get_by_role("heading", name="No loss landscape here yet")).to_be_visible()
        run.log_loss_landscape(bowl(3.0), name="bowl", step=0)
        wait_for_step(page, 0)
        expect(page.locator(".tl-land-empty")).to_be_hidden()


def test_a_hidden_tab_reads_nothing_and_plays_nothing(page, board):
    open_bowl(page, board, speed=10)
    page.get_by_role("button", name="Play").first.click()
    page.get_by_role("tab", name="Runs", exact=True).click()
    page.wait_for_function("!TL.landscape.panels.a.player.isPlaying")
    page.get_by_role("tab", name="Landscape").click()
    wait_for_panel(page, "p.stage.clientWidth > 0")
    expect(page.get_by_role("button", name="Play").first).to_be_visible()
