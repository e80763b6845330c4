"""Landscapes as surfaces: what is drawn, how it is turned, and what is held by the browser."""

import json

from playwright.sync_api import expect

from tests.browser.landscapes import link_of, num_colours, panel, stage, tip, wait_for_panel, wait_for_step

CAMERA = "JSON.stringify(TL.landscape.camera)"
LARGEST = """Math.max(...performance.getEntriesByType("resource")
    .filter((item) => item.name.includes("/tstatic/")).map((item) => item.decodedBodySize))"""
COUNT_CONTEXTS = """
    window.contexts = [];
    const ask = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        const context = ask.call(this, kind, ...rest);
        if (kind.startsWith("webgl") && context && !window.contexts.includes(context)) window.contexts.push(context);
        return context;
    };
    window.numAlive = () => window.contexts.filter((context) => !context.isContextLost()).length;
"""
WITHOUT_WEBGL = """
    const ask = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind.startsWith("webgl") ? null : ask.call(this, kind, ...rest);
    };
"""


def open_surface(page, board, name="bowl", **settings):
    view = {"name": name, "view": "3d", **settings}
    page.goto(board.link(project="land", tab="landscape", landscape=json.dumps(view)))
    wait_for_panel(page, "p.root.dataset.view === '3d'")


def move_over(page, x, y, side="a"):
    """Puts the pointer over the surface above a point of the plane."""
    px, py = panel(page, f"(({{ px, py }}) => [px, py])(p.plot.place({x}, {y}))", side)
    box = stage(page, side).bounding_box()
    page.mouse.move(box["x"] + px - 4, box["y"] + py)
    page.mouse.move(box["x"] + px, box["y"] + py)


def test_the_button_shows_a_surface_in_the_colours_of_the_scale(page, board):
    page.goto(board.link(project="land", tab="landscape", landscape=json.dumps({"name": "bowl", "step": 0})))
    wait_for_step(page, 0)
    assert page.evaluate(LARGEST) < 200_000, "what draws surfaces is loaded before one is wanted"
    page.get_by_role("button", name="3D", exact=True).click()
    wait_for_panel(page, "p.root.dataset.view === '3d'")
    assert page.evaluate(LARGEST) > 300_000
    assert num_colours(page) > 200
    assert link_of(page)["view"] == "3d"
    numbers = panel(page, "[...p.surface.buffers.positions].every(Number.isFinite)")
    assert numbers


def test_buttons_look_from_the_front_the_side_and_the_top_and_reset(page, board):
    open_surface(page, board)
    start = page.evaluate(CAMERA)
    for label, azimuth, elevation in (("Front", -90, 0), ("Side", 0, 0), ("Top", -90, 90)):
        page.get_by_role("button", name=label, exact=True).first.click()
        assert page.evaluate("[TL.landscape.camera.azimuth, TL.landscape.camera.elevation]") == [azimuth, elevation]
    page.wait_for_function("location.search.includes('camera')")
    page.reload()
    wait_for_panel(page, "p.root.dataset.view === '3d'")
    assert page.evaluate("TL.landscape.camera.elevation") == 90
    page.get_by_role("button", name="Reset", exact=True).first.click()
    assert page.evaluate(CAMERA) == start
    page.wait_for_function("!location.search.includes('camera')")


def test_dragging_turns_and_moves_it_and_the_wheel_zooms_after_a_click(page, board):
    open_surface(page, board)
    box = stage(page).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    page.mouse.down()
    page.mouse.move(x + 60, y + 20)
    page.mouse.up()
    turned = page.evaluate("TL.landscape.camera")
    assert (turned["azimuth"], turned["elevation"], turned["zoom"]) == (-85, 39, 1)
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(x + 100, y + 20)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert page.evaluate("TL.landscape.camera.panX") > 0
    page.mouse.wheel(0, -300)
    page.wait_for_function("TL.landscape.camera.zoom > 1.2")


def test_keys_turn_zoom_and_reset_it(page, board):
    open_surface(page, board)
    stage(page).focus()
    start = page.evaluate(CAMERA)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("[TL.landscape.camera.azimuth, TL.landscape.camera.elevation]") == [-64, 36]
    page.keyboard.press("+")
    assert page.evaluate("TL.landscape.camera.zoom") == 1.2
    page.keyboard.press("3")
    assert page.evaluate("TL.landscape.camera.elevation") == 90
    page.keyboard.press("0")
    assert page.evaluate(CAMERA) == start
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator('[data-role="live"]').first).to_contain_text("δ (random): 0, η (random): 0, loss: 0.1")


def test_two_fingers_zoom(new_page, board):
    page = new_page(has_touch=True)
    open_surface(page, board)
    page.evaluate("""() => {
        const { stage } = TL.landscape.panels.a;
        const { left, top } = stage.getBoundingClientRect();
        const send = (type, pointerId, x) => stage.dispatchEvent(new PointerEvent(type, {
            pointerId, pointerType: "touch", clientX: left + x, clientY: top + 200, bubbles: true, buttons: 1,
        }));
        stage.setPointerCapture = () => {};
        send("pointerdown", 1, 200);
        send("pointerdown", 2, 300);
        send("pointermove", 2, 400);
    }""")
    assert page.evaluate("TL.landscape.camera.zoom") == 2


def test_the_pointer_reads_the_surface(page, board):
    open_surface(page, board, step=0)
    wait_for_step(page, 0)
    move_over(page, -0.4, 0.4)  # on the side of the bowl that the eye sees the inside of
    expect(tip(page).locator('[data-tip="δ (random)"]')).to_have_text("-0.4")
    expect(tip(page).locator('[data-tip="η (random)"]')).to_have_text("0.4")
    expect(tip(page).locator('[data-tip="loss"]')).to_have_text("2.02")


def test_a_wireframe_is_drawn_with_lines_only(page, board):
    open_surface(page, board, marks=False)
    solid = num_colours(page)
    page.get_by_label("Wireframe").check()
    wait_for_panel(page, "p.surface.net.visible && !p.surface.mesh.visible")
    assert num_colours(page) != solid
    assert link_of(page)["wire"] is True


def test_cells_without_a_number_are_holes(page, board):
    open_surface(page, board)
    page.get_by_role("button", name="bowl of beta, 3 steps").click()
    wait_for_panel(page, "p.frame.step === 40 && p.frame.payload.num_missing === 12 && p.surface")
    # 20 by 20 cells, less those that touch one of 3 corners of the lower edge or 4 by 3 of the upper right corner.
    assert panel(page, "p.surface.mesh.geometry.drawRange.count / 6") == 400 - 3 - 4 * 3


def test_a_replay_changes_numbers_and_builds_nothing_anew(page, board):
    page.add_init_script(COUNT_CONTEXTS)
    open_surface(page, board, speed=20)
    page.get_by_role("button", name="Play").first.click()
    wait_for_step(page, 20)
    wait_for_step(page, 40)
    page.get_by_role("button", name="Pause").first.click()
    assert panel(page, "p.surface.numBuilt") == 1
    assert page.evaluate("window.contexts.length") == 1


def test_two_surfaces_share_one_context_and_one_camera(page, board):
    page.add_init_script(COUNT_CONTEXTS)
    open_surface(page, board)
    page.get_by_role("button", name="Compare two steps, runs or names").click()
    wait_for_panel(page, "p.root.dataset.view === '3d'", "b")
    stage(page, "b").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("TL.pending.size === 0")
    assert panel(page, "p.plot.lens.camera.azimuth") == panel(page, "p.plot.lens.camera.azimuth", "b") == -64
    assert page.evaluate("window.contexts.length") == 1
    assert num_colours(page, "b") > 100


def test_a_hidden_tab_holds_no_context(page, board):
    page.add_init_script(COUNT_CONTEXTS)
    open_surface(page, board)
    assert page.evaluate("window.numAlive()") == 1
    page.get_by_role("tab", name="Runs", exact=True).click()
    page.wait_for_function("window.numAlive() === 0")
    page.get_by_role("tab", name="Landscape").click()
    page.wait_for_function("window.numAlive() === 1")
    assert num_colours(page) > 100


def test_without_webgl_the_tab_says_so_and_the_maps_work(page, board, faults):
    page.add_init_script(WITHOUT_WEBGL)
    page.goto(board.link(project="land", tab="landscape", landscape=json.dumps({"name": "bowl", "view": "3d"})))
    expect(page.locator(".tl-land-message").first).to_contain_text("This browser draws no 3D here")
    page.get_by_role("button", name="Both", exact=True).click()
    wait_for_panel(page, "p.root.dataset.view === 'both'")
    expect(page.locator(".tl-land-message").first).to_be_hidden()
    assert all("WebGL" in fault for fault in faults)
    faults.clear()


def test_a_picture_of_a_surface_has_its_axes(page, board):
    open_surface(page, board)
    page.get_by_role("button", name="Export").first.click()
    with page.expect_download() as found:
        page.get_by_role("button", name="SVG, a drawing").click()
    with open(found.value.path(), encoding="utf-8") as file:
        text = file.read()
    assert "data:image/png;base64," in text
    assert ">δ (random)</text>" in text
    assert ">loss" in text
