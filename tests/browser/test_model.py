"""The Model tab: what is drawn, opened, found, and said of a network."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.fill import NASTY
from tests.browser.models import LAYER, box, link_of, links, middle, model, open_paths, wait_for_model


def fact(page, label):
    return page.locator(f'.tl-model-inspector [data-fact="{label}"]').first


def opener(page, path):
    return box(page, path).locator("rect.tl-model-opener")


# -- what is drawn ----------------------------------------------------------------------------------------------------


def test_a_network_opens_folded_with_its_inputs_and_outputs(open_net, page):
    open_net()
    assert open_paths(page) == ["", "embed", "layers", LAYER, "head"]
    assert sorted(links(page)) == [
        "embed layers.0 tensor",
        "head output tensor",
        "input embed tensor",
        "layers.0 head tensor",
    ]
    layer = box(page, LAYER)
    expect(layer).to_contain_text("×6")
    expect(layer).to_contain_text("↻")
    expect(layer).to_contain_text("6 × 3.18 k · B×T×16")
    expect(page.locator('[data-role="visible"]')).to_have_text("5 of 14 modules")
    assert model(page, "m.scene.items.filter(({ what }) => what === 'pill').length") == 2


def test_a_block_opens_in_place_with_its_ways_around(open_net, page):
    open_net()
    before = middle(page, LAYER)
    opener(page, LAYER).click()
    wait_for_model(page, "m.opening.isOpen(3)")
    assert [item for item in links(page) if item.endswith("residual")] == ["embed add residual", "add add residual"]
    assert "layers.0.q_proj attention tensor" in links(page)
    after = middle(page, LAYER)
    assert abs(before[0] - after[0]) < 250
    opener(page, LAYER).click()
    wait_for_model(page, "!m.opening.isOpen(3)")
    assert LAYER + ".norm" not in open_paths(page)


def test_a_double_click_opens_and_closes_and_a_click_chooses(open_net, page):
    open_net()
    x, y = middle(page, LAYER)
    page.mouse.dblclick(x, y)
    wait_for_model(page, "m.opening.isOpen(3)")
    expect(box(page, LAYER)).to_have_attribute("aria-expanded", "true")
    page.mouse.dblclick(*middle(page, LAYER))
    wait_for_model(page, "!m.opening.isOpen(3)")
    page.mouse.click(*middle(page, "head"))
    expect(box(page, "head")).to_have_attribute("aria-selected", "true")
    assert link_of(page)["at"] == "head"


def test_all_is_opened_closed_and_opened_by_one_level(open_net, page):
    open_net()
    page.locator('[data-role="expand"]').click()
    wait_for_model(page, "m.opening.numVisible === 14")
    page.locator('[data-role="collapse"]').click()
    wait_for_model(page, "m.opening.numVisible === 4")
    page.locator('[data-role="level"]').click()
    wait_for_model(page, "m.opening.numVisible === 5")
    page.locator('[data-role="level"]').click()
    wait_for_model(page, "m.opening.numVisible === 11")


def test_a_large_model_opens_collapsed_and_never_shows_more_than_300(open_net, page):
    open_net("wide")
    assert model(page, "m.graph.modules.length") == 1261
    assert model(page, "m.opening.numVisible") < 40
    toast = page.locator(".tl-toast")
    page.locator('[data-role="expand"]').click()
    wait_for_model(page, "m.opening.numVisible > 200")
    expect(toast).to_contain_text("stayed closed: at most 300 modules are drawn at once")
    assert model(page, "m.opening.numVisible") <= 300
    page.keyboard.press("/")
    page.keyboard.type("0.15.10.5")
    page.keyboard.press("Enter")
    wait_for_model(page, "m.selected !== null && m.scene.byId.has(m.selected)")
    assert model(page, "m.graph.modules[Number(m.selected.slice(1))].path") == "0.15.10.5"
    expect(toast).to_contain_text("closed again: at most 300 are drawn at once")
    assert model(page, "m.opening.numVisible") <= 300


def test_a_link_opens_no_more_than_300(open_net, page):
    open_net("wide", open=[f"0.{i}.{j}" for i in range(16) for j in range(11)], at="0.0.0.0")
    assert model(page, "m.opening.numVisible") <= 300
    expect(box(page, "0.0.0.0")).to_be_visible()


def test_operations_are_joints_all_of_them_or_none(open_net, page):
    open_net("mixture")
    joints = "m.scene.items.filter(({ what }) => what === 'joint').length"
    usual = model(page, joints)
    page.get_by_label("Operations").select_option("none")
    wait_for_model(page, "m.settings.joints === 'none'")
    fewer = model(page, joints)
    page.get_by_label("Operations").select_option("all")
    wait_for_model(page, f"m.settings.joints === 'all' && {joints} >= {usual}")
    assert fewer < usual


def test_a_mixture_of_experts_has_routing_edges_with_its_choice_and_a_sum(open_net, page):
    open_net("mixture")
    assert [item for item in links(page) if item.endswith("routing")]
    expect(page.locator(".tl-model-labels text").first).to_have_text("top-2/4")
    expect(page.locator('.tl-model-legend [data-edge="routing"]')).to_be_visible()
    page.mouse.click(*middle(page, ""))
    expect(fact(page, "Experts")).to_have_text("4, 2 for each token")
    expect(fact(page, "Shared")).to_have_text("1 for every token")
    fact(page, "Router").get_by_role("button").click()
    wait_for_model(page, "m.graph.modules[Number(m.selected.slice(1))].path === 'router'")


@pytest.mark.parametrize(("by", "title"), [("params", "Parameters, log"), ("flops", "FLOPs, log"), ("dtype", "dtype")])
def test_colours_tell_kinds_sizes_or_dtypes_with_a_legend(open_net, page, by, title):
    open_net()
    legend = page.locator(".tl-model-legend")
    expect(legend).to_contain_text("embedding")
    fill = "m.stage.drawing.nodes.get('m3').element.querySelectorAll('.tl-model-edge')[0].getAttribute('fill')"
    before = model(page, fill)
    page.get_by_label("Colour by").select_option(by)
    expect(legend).to_contain_text(title)
    wait_for_model(page)
    if by != "dtype":  # whose most frequent word has the hue of the layer's kind
        assert model(page, fill) != before
    assert link_of(page)["by"] == by


def test_a_dark_page_has_dark_boxes(open_net, page):
    open_net(theme="dark")
    fill = "m.look.card"
    assert model(page, fill) == "#191d25"
    page.locator('[data-role="theme"]').click()
    wait_for_model(page, "!m.look.isDark")
    assert model(page, fill) == "#ffffff"


# -- what is said -----------------------------------------------------------------------------------------------------


def test_the_inspector_tells_what_the_model_is_and_costs(open_net, page):
    open_net()
    expect(fact(page, "Parameters")).to_have_text("19.9 k")
    expect(fact(page, "With ties counted twice")).to_have_text("20.7 k")
    expect(fact(page, "Traced with")).to_have_text(re.compile("B = 2, T = 8"))
    expect(page.locator('[data-meta="commit"]')).to_contain_text("abc")


def test_the_inspector_tells_what_a_module_is_takes_and_gives(open_net, page):
    open_net(at=LAYER)
    expect(fact(page, "Class")).to_have_text("Block")
    expect(fact(page, "Repeats")).to_have_text("6 alike: 0..5")
    expect(fact(page, "They differ in")).to_have_text("layer_idx")
    expect(fact(page, "Parameters")).to_have_text("3.18 k each, 19.1 k in all")
    expect(page.locator('[data-io="in"]')).to_contain_text("B × T × 16")
    expect(page.locator('[data-io="out"]')).to_contain_text("float32")
    expect(page.locator("[data-share]")).to_have_text("96 % of all parameters")


def test_ties_and_parts_of_the_map_lead_where_they_are(open_net, page):
    open_net(at="head")
    page.get_by_role("button", name=re.compile("^tied to")).click()
    wait_for_model(page, "m.graph.modules[Number(m.selected.slice(1))].path === 'embed'")
    page.locator('.tl-model-crumbs [data-crumb="0"]').click()
    wait_for_model(page, "m.selected === 'm0'")
    cells = page.locator("button.tl-model-cell")
    areas = cells.evaluate_all("(list) => list.map((cell) => cell.offsetWidth * cell.offsetHeight)")
    amounts = cells.evaluate_all("(list) => list.map((cell) => Number(cell.dataset.amount))")
    assert amounts == sorted(amounts, reverse=True)
    assert areas[0] > 2 * areas[-1]
    cells.first.click()
    wait_for_model(page, "m.selected !== 'm0'")
    assert LAYER in model(page, "m.graph.modules[Number(m.selected.slice(1))].path")


def test_a_part_that_is_closed_opens_and_is_flown_to(open_net, page):
    open_net(at=LAYER)
    page.locator("button.tl-model-cell", has_text="mlp").click()
    wait_for_model(page, "m.graph.modules[Number(m.selected.slice(1))].path === 'layers.0.mlp'")
    seen = model(page, "m.scene.byId.get(m.selected)")
    camera = model(page, "({ ...m.stage.camera, ...m.stage.view })")
    assert camera["x"] < seen["x"] < camera["x"] + camera["width"] / camera["k"]
    assert camera["y"] < seen["y"] < camera["y"] + camera["height"] / camera["k"]


def test_a_partial_graph_says_where_and_why_it_ended(open_net, page):
    open_net("fails")
    expect(page.locator(".tl-model-warning")).to_contain_text("This graph is partial: the trace ended in second")
    expect(page.locator(".tl-model-inspector")).to_contain_text("reduction dim")
    expect(box(page, "second")).to_contain_text("!")
    box(page, "second").locator(".tl-model-edge").click()
    expect(page.locator(".tl-model-warning")).to_contain_text("The trace failed in this module")


def test_a_static_graph_says_so_and_makes_up_no_edge(open_net, page):
    open_net("static")
    expect(page.locator(".tl-model-warning")).to_contain_text("This graph is static")
    assert not [item for item in links(page) if item.endswith(("residual", "skip"))]


def test_an_operation_is_told_too(open_net, page):
    open_net(open=[LAYER])
    joint = page.get_by_role("treeitem", name=re.compile("^operation scaled_dot|^operation .*attention")).first
    joint.locator(".tl-model-edge").click()
    expect(page.locator(".tl-model-title")).to_contain_text("attention")
    fact(page, "In").get_by_role("button").click()
    wait_for_model(page, "m.selected === 'm3'")


def test_names_are_text(open_net, page):
    open_net(NASTY)
    expect(page.locator(".tl-model-crumbs")).to_contain_text(NASTY)
    assert "pwn" not in page.title()


def test_the_pointer_tells_an_edge_and_lights_what_it_joins(open_net, page):
    open_net(open=[LAYER])
    at = page.evaluate(
        """(() => {
            const line = [...document.querySelectorAll('.tl-model-line[data-kind="residual"]')][0];
            const path = line.querySelector('.tl-model-touch');
            const point = path.getPointAtLength(path.getTotalLength() * 0.4).matrixTransform(path.getScreenCTM());
            return [point.x, point.y];
        })()"""
    )
    page.mouse.move(at[0] - 3, at[1])
    page.mouse.move(*at)
    tip = page.locator(".tl-model-tip")
    expect(tip).to_contain_text("residual")
    expect(tip).to_contain_text("2 × 8 × 16 · float32 · 1.0 kB")
    expect(page.locator(".tl-model-dim")).to_have_count(1)
    page.mouse.move(*middle(page, LAYER + ".q_proj"))
    expect(tip).to_be_hidden()
    lit = "[...document.querySelectorAll('[data-node].tl-model-lit')].map((node) => node.ariaLabel.split(',')[0])"
    assert {"norm", "q_proj"} <= set(page.evaluate(lit))


def test_without_a_graph_the_tab_says_how_to_log_one(open_view, page):
    open_view(wait_for=None, project="spike", tab="model")
    expect(page.get_by_role("heading", name="No model graph here yet")).to_be_visible()
    expect(page.locator(".tl-model-empty pre")).to_contain_text("trackio.log_model(model, input_shape=")


def test_a_file_that_cannot_be_read_is_said(open_view, page, faults):
    page.route("**/t/media**", lambda route: route.fulfill(body="{ not whole"))
    open_view(wait_for=None, project="nets", tab="model", model=json.dumps({"name": "language"}))
    expect(page.locator(".tl-model-message")).to_have_text("The graph of step 0 cannot be shown: its file is damaged.")
    assert faults == []
