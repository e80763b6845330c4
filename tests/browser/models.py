"""What the tests ask a page about its model graph."""

import json

LAYER = "layers.0"
"""The layer that repeats, in `Language` of `fill_nets.py`."""
SETTLED = "m?.root.dataset.ready && String(m.drawNumber) === m.root.dataset.draws && !m.stage.flight"


def model(page, expression):
    """Evaluates JavaScript over `m`, the Model tab."""
    return page.evaluate(f"(() => {{ const m = TL.model; return {expression}; }})()")


def wait_for_model(page, expression="true"):
    """Waits until nothing moves, and JavaScript over `m`, the Model tab, is true."""
    # A function, not an expression: the policy of a frozen copy evaluates no text.
    page.wait_for_function(f"() => {{ const m = TL.model; return Boolean({SETTLED} && ({expression})); }}")


def box(page, path):
    """What is drawn for the module of a path."""
    return page.locator(f'[data-node="m{model(page, f"m.graph.byPath.get({json.dumps(path)})")}"]')


def open_paths(page):
    """Paths of all modules that are to be seen."""
    return model(page, "m.opening.visible().map((i) => m.graph.modules[i].path)")


def middle(page, path):
    """Where a module's box is on the page."""
    index = model(page, f"m.graph.byPath.get({json.dumps(path)})")
    return page.evaluate(
        f"""(() => {{
            const box = document.querySelector('[data-node="m{index}"] .tl-model-edge').getBoundingClientRect();
            return [box.x + Math.min(60, box.width / 2), box.y + Math.min(12, box.height / 2)];
        }})()"""
    )


def link_of(page):
    """What the link says of the tab."""
    return json.loads(page.evaluate("new URLSearchParams(location.search).get('model') ?? '{}'"))


def links(page):
    """The edges as they are drawn: from, to and kind."""
    return model(
        page,
        """m.picture.links.map(({ from, to, kind }) => [from, to].map((id) => {
            const i = Number.parseInt(id.slice(1), 10);
            return id[0] === "m" ? m.graph.modules[i].path : m.graph.ops[i].kind;
        }).concat(kind).join(" "))""",
    )
