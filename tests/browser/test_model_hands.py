"""The Model tab under the reader's hands: keys, pointer, search, comparing, exporting, links, small screens."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

from playwright.sync_api import expect
from torch import nn

from tests.browser.fill import NASTY
from tests.browser.models import LAYER, box, link_of, middle, model, open_paths, wait_for_model


def chosen(page):
    return model(
        page,
        "m.selected && m.selected[0] === 'm' ? m.graph.modules[Number.parseInt(m.selected.slice(1))].path : m.selected",
    )


# -- keys -------------------------------------------------------------------------------------------------------------


def test_the_search_lists_up_to_eight_and_flies_to_what_was_chosen(open_net, page):
    open_net()
    page.keyboard.press("/")
    search = page.get_by_role("combobox", name="Find a module by path or class")
    expect(search).to_be_focused()
    page.keyboard.type("linear")
    hits = page.locator("[data-hit]")
    expect(hits).to_have_count(7)
    page.keyboard.press("ArrowDown")
    expect(hits.nth(1)).to_have_attribute("aria-selected", "true")
    search.fill("layers.4.v_proj")
    expect(hits.first).to_contain_text("stands for layers.4.v_proj")
    page.keyboard.press("Enter")
    wait_for_model(page, "m.opening.isOpen(3)")
    assert chosen(page) == "layers.0.v_proj"
    expect(box(page, "layers.0.v_proj")).to_be_focused()


def test_escape_leaves_the_search_and_then_chooses_nothing(open_net, page):
    open_net(at="head")
    page.keyboard.press("/")
    page.keyboard.type("no such module")
    expect(page.locator(".tl-model-hits")).to_have_text("No module is called so.")
    page.keyboard.press("Escape")
    expect(page.locator(".tl-model-hits")).to_be_hidden()
    assert chosen(page) == "head"
    page.keyboard.press("Escape")
    assert chosen(page) is None


def test_e_and_c_open_and_close_what_is_chosen(open_net, page):
    open_net(at=LAYER)
    page.keyboard.press("e")
    wait_for_model(page, "m.opening.isOpen(3)")
    expect(page.locator('.tl-model [data-role="live"]')).to_have_text("layers.0 is open.")
    page.keyboard.press("c")
    wait_for_model(page, "!m.opening.isOpen(3)")
    page.keyboard.press("c")
    wait_for_model(page, "!m.opening.isOpen(2)")
    assert chosen(page) == "layers", "what is around it was closed, and is chosen"


def test_every_module_is_reached_by_arrow_keys_and_read_out(open_net, page):
    open_net()
    box(page, "").focus()
    page.keyboard.press("ArrowDown")
    expect(box(page, "embed")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(box(page, LAYER)).to_be_focused()
    expect(box(page, LAYER)).to_have_attribute(
        "aria-label",
        re.compile(r"^0\.\.5, Block, \w+, 6 times, 3\.18 k parameters, gives B by T by 16, closed, 9 modules inside$"),
    )
    page.keyboard.press("Enter")
    wait_for_model(page, "m.opening.isOpen(3)")
    expect(box(page, LAYER)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(box(page, LAYER + ".norm")).to_be_focused()
    page.keyboard.press("ArrowDown")
    reached = {chosen(page)}
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
        reached.add(chosen(page))
    assert {f"{LAYER}.{name}_proj" for name in "qkv"} <= reached | {f"{LAYER}.q_proj"}
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.dataset.node")[0] == "o"
    assert page.locator('[data-node][tabindex="0"]').count() == 1
    items = page.get_by_role("tree", name="Model graph").get_by_role("treeitem")
    assert items.count() == model(page, "m.scene.items.length")


def test_keys_in_fields_do_nothing_to_the_graph(open_net, page):
    open_net(at=LAYER)
    page.get_by_placeholder("Filter runs").fill("")
    page.keyboard.type("e")
    page.wait_for_function("document.activeElement.value === 'e'")
    assert not model(page, "m.opening.isOpen(3)")


# -- pointer ----------------------------------------------------------------------------------------------------------


def test_the_wheel_zooms_at_the_pointer_and_a_drag_pans_also_from_a_box(open_net, page):
    open_net()
    x, y = middle(page, "head")
    page.mouse.move(x, y)
    before = model(page, "m.stage.camera")
    page.mouse.wheel(0, -300)
    wait_for_model(page, f"m.stage.camera.k > {before['k']}")
    after = middle(page, "head")
    assert abs(after[0] - x) < 30
    assert abs(after[1] - y) < 30
    x, y = after
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 40, y - 20)
    page.mouse.move(x - 80, y - 50)
    page.mouse.up()
    moved = middle(page, "head")
    assert (round(moved[0] - x), round(moved[1] - y)) == (-80, -50)
    assert chosen(page) is None, "a drag is no click"
    page.keyboard.press("0")
    wait_for_model(page, "m.stage.minimap.root.hidden")


def test_two_fingers_zoom(new_page, board):
    page = new_page(has_touch=True)
    page.goto(board.link(project="nets", tab="model", model=json.dumps({"name": "language"})))
    wait_for_model(page)
    before = model(page, "m.stage.camera.k")
    page.evaluate(
        """(() => {
            const stage = document.querySelector('.tl-model-stage');
            const box = stage.getBoundingClientRect();
            const send = (type, id, x) => stage.dispatchEvent(new PointerEvent(type, {
                pointerId: id, pointerType: 'touch', clientX: box.x + x, clientY: box.y + 200, button: 0, bubbles: true,
            }));
            send('pointerdown', 1, 200);
            send('pointerdown', 2, 300);
            send('pointermove', 2, 400);
            send('pointerup', 1, 200);
            send('pointerup', 2, 400);
        })()"""
    )
    assert abs(model(page, "m.stage.camera.k") / before - 2) < 0.05


def test_the_small_map_shows_and_moves_what_is_seen(open_net, page):
    open_net("wide", open=["0.0", "0.1", "0.2"])
    minimap = page.locator(".tl-model-minimap")
    expect(minimap).to_be_visible()
    before = model(page, "m.stage.camera.y")
    at = minimap.bounding_box()
    page.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] - 14)
    wait_for_model(page, f"m.stage.camera.y > {before} + 300")
    window = page.locator(".tl-model-window").bounding_box()
    assert window["y"] > at["y"] + at["height"] / 2


def test_the_inspector_is_as_wide_as_it_is_dragged(open_net, page):
    open_net()
    side = page.locator(".tl-model-side")
    handle = page.get_by_role("separator", name="Width of the inspector")
    at = handle.bounding_box()
    page.mouse.move(at["x"] + 4, at["y"] + 50)
    page.mouse.down()
    page.mouse.move(at["x"] - 96, at["y"] + 50)
    page.mouse.up()
    assert abs(side.bounding_box()["width"] - 440) < 12
    handle.press("ArrowRight")
    page.reload()
    wait_for_model(page)
    assert abs(side.bounding_box()["width"] - 420) < 12


def test_who_wants_no_motion_has_none(new_page, board):
    page = new_page(reduced_motion="reduce")
    page.goto(board.link(project="nets", tab="model", model=json.dumps({"name": "language"})))
    wait_for_model(page)
    page.keyboard.press("0")
    assert model(page, "m.stage.flight ?? null") is None


# -- several graphs ---------------------------------------------------------------------------------------------------


def test_the_slider_goes_through_steps_and_keeps_what_is_open(open_net, page):
    open_net("mlp")
    assert len(open_paths(page)) == 6
    page.get_by_label("Step", exact=True).fill("0")
    wait_for_model(page, "m.root.dataset.step === '0'")
    assert len(open_paths(page)) == 4
    assert link_of(page)["step"] == 0


def test_a_step_that_is_logged_while_one_looks_is_shown(open_net, page, log):
    run = log.init(project="nets", name="gamma")
    layer = nn.Linear(2, 3)
    run.log_model(layer, name="growing", step=0)
    open_net("growing")
    assert model(page, "m.graph.modules[0].params.unique") == 9
    run.log_model(nn.Sequential(layer, nn.Linear(3, 1)), name="growing", step=5)
    wait_for_model(page, "m.root.dataset.step === '5' && m.graph.modules[0].params.unique === 13")


def test_another_run_or_name_is_picked(open_net, page):
    open_net()
    page.get_by_label("Graph", exact=True).select_option(label="beta · language")
    wait_for_model(page, "TL.store.runs.get(m.frame.run).name === 'beta'")
    assert model(page, "m.graph.modules[3].count") == 4


def test_two_steps_are_compared_marked_and_listed(open_net, page):
    open_net("mlp")
    page.locator('[data-role="compare"]').click()
    page.get_by_label("Graph to compare with").select_option(label="alpha · mlp")
    page.get_by_label("Step to compare with").fill("0")
    wait_for_model(page, "m.diff && m.diff.entries.length === 4")
    expect(page.locator('[data-role="diff"]')).to_have_text("Differences: 2 added, 2 changed")
    expect(box(page, "0")).to_contain_text("≠")
    expect(box(page, "4")).to_contain_text("+")
    expect(box(page, "4")).to_have_attribute("aria-label", re.compile("^added, "))
    entry = page.locator('.tl-model-diff [data-status="changed"]').first
    expect(entry).to_contain_text("32×10 float32 → 64×10 float32")
    entry.get_by_role("button", name="0", exact=True).click()
    wait_for_model(page, "m.selected === 'm1'")
    page.locator('[data-role="swap"]').click()
    wait_for_model(page, "m.root.dataset.step === '0'")
    expect(page.locator('[data-role="diff"]')).to_have_text("Differences: 2 removed, 2 changed")
    expect(page.locator('.tl-model-diff [data-status="removed"]')).to_have_count(2)


def test_two_runs_are_compared_through_their_repeats(open_net, page):
    open_net()
    page.locator('[data-role="compare"]').click()
    wait_for_model(page, "m.diff && m.diff.entries.length > 0")
    expect(page.locator(".tl-model-diff")).to_contain_text("repeats")
    page.locator('[data-role="compare"]').click()
    wait_for_model(page, "m.diff === null")
    expect(page.locator(".tl-model-diff")).to_have_count(0)


# -- links, files, small screens --------------------------------------------------------------------------------------


def test_a_link_shows_what_its_sender_saw(open_net, page, new_page, board):
    open_net(by="params")
    page.mouse.dblclick(*middle(page, LAYER))
    wait_for_model(page, "m.opening.isOpen(3)")
    page.mouse.click(*middle(page, LAYER + ".norm"))
    page.wait_for_function("location.search.includes('norm') && location.search.includes('camera')")
    other = new_page()
    other.goto(page.url)
    wait_for_model(other)
    assert open_paths(other) == open_paths(page)
    assert chosen(other) == LAYER + ".norm"
    for mine, others in zip(middle(page, LAYER), middle(other, LAYER), strict=True):
        assert abs(mine - others) < 3
    expect(other.locator(".tl-model-legend")).to_contain_text("Parameters, log")


def save(page, item):
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as found:
        page.get_by_role("button", name=item).click()
    return found.value


def test_pictures_have_all_that_the_page_shows(open_net, page):
    open_net(open=[LAYER])
    found = save(page, "SVG, a drawing")
    assert found.suggested_filename == "alpha-language-step0.svg"
    root = ElementTree.parse(found.path()).getroot()
    texts = {item.text for item in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"alpha · language · step 0", "×6", "↻", "embed", "Embedding", "+", "attention", "residual"} <= texts
    assert any(text and text.startswith("B×T int64") for text in texts)
    with open(save(page, "PNG, a picture").path(), "rb") as file:
        head = file.read(24)
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(head[16:20]) == round(2 * float(root.get("width")))


def test_the_document_and_texts_are_exported(open_net, page):
    open_net()
    document = json.loads(Path(save(page, "JSON, the whole graph").path()).read_text(encoding="utf-8"))
    assert document["meta"]["format_version"] == 2
    assert len(document["modules"]) == 14
    assert 'subgraph "cluster_m2"' in Path(save(page, "DOT, for Graphviz").path()).read_text(encoding="utf-8")
    assert Path(save(page, "Mermaid, for Markdown").path()).read_text(encoding="utf-8").startswith("flowchart TB\n")
    table = Path(save(page, "Text, a table").path()).read_text(encoding="utf-8")
    assert re.search(r"0\.\.5 +Block +×6", table)


def test_a_nasty_name_is_harmless_in_a_picture(open_net, page):
    open_net(NASTY)
    root = ElementTree.parse(save(page, "SVG, a drawing").path()).getroot()
    assert not [item for item in root.iter() if item.tag.endswith(("script", "img"))]


def test_on_a_phone_nothing_is_wider_than_the_page(new_page, board):
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    page.goto(board.link(project="nets", tab="model", model=json.dumps({"name": "language"})))
    wait_for_model(page)
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]
    expect(page.get_by_role("tab", name="Model", exact=True)).to_have_attribute("aria-selected", "true")
    x, y = middle(page, LAYER)
    page.touchscreen.tap(x, y)
    assert chosen(page) == LAYER


def test_the_worker_is_loaded_by_this_tab_alone(page, board):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(board.link(project="odd"))
    page.wait_for_selector('[data-ready="1"]')
    assert not [url for url in asked if "elk" in url]
    page.get_by_role("tab", name="Model", exact=True).click()
    page.wait_for_selector(".tl-model-empty h2")
    assert [url for url in asked if "elk-worker" in url]
