"""What the tests ask a page about its landscapes."""

import json

_FIND = "TL.landscape?.panels[side]"


def panel(page, expression, side="a"):
    """Evaluates JavaScript over `p`, a panel of the Landscape tab: `a` is the first, `b` the compared one."""
    return page.evaluate(f"(side) => {{ const p = {_FIND}; return {expression}; }}", side)


def wait_for_panel(page, expression, side="a"):
    """Waits until JavaScript over `p`, a panel that is drawn, is true."""
    page.wait_for_function(
        f"(side) => {{ const p = {_FIND}; return Boolean(p?.root.dataset.ready && ({expression})); }}", arg=side
    )


def wait_for_step(page, step, side="a"):
    """Waits until a panel shows a step."""
    wait_for_panel(page, f"p.root.dataset.step === {json.dumps(str(step))}", side)


def point_at(page, x, y, side="a"):
    """Puts the pointer over a point of the plane."""
    px, py = panel(page, f"[p.plot.px({x}), p.plot.py({y})]", side)
    box = stage(page, side).bounding_box()
    page.mouse.move(box["x"] + px - 3, box["y"] + py)
    page.mouse.move(box["x"] + px, box["y"] + py)
    return tip(page, side)


def stage(page, side="a"):
    return page.locator(f'[data-panel="{side}"]')


def tip(page, side="a"):
    return stage(page, side).locator(".tl-land-tip")


def colour_at(page, x, y, side="a"):
    """Red, green and blue of the picture at a point of the plane."""
    script = f"""(() => {{
        const at = [p.plot.px({x}), p.plot.py({y})].map((value) => Math.round(value * p.pen.ratio));
        return [...p.pen.ctx.getImageData(at[0], at[1], 1, 1).data.slice(0, 3)];
    }})()"""
    return panel(page, script, side)


def num_colours(page, side="a"):
    """How many colours the picture has: few where nothing is drawn."""
    script = """(() => {
        const { left, top, width, height } = p.plot.area;
        const data = p.pen.ctx.getImageData(left, top, width, height).data;
        return new Set(new Uint32Array(data.buffer)).size;
    })()"""
    return panel(page, script, side)


def link_of(page):
    """What the link says of the tab."""
    return json.loads(page.evaluate("new URLSearchParams(location.search).get('landscape') ?? '{}'"))
