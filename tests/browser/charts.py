"""What the tests ask a page about its charts."""

import json

_FIND = "[...(window.TL?.charts ?? [])].find((item) => item.key === key && item.isVisible && item.plot)"


def card(page, key):
    """The card of a key on the Metrics tab."""
    return page.locator(f".tl-card[data-key={json.dumps(key)}]")


def chart(page, key, expression):
    """Evaluates JavaScript over `c`, the visible chart of a key."""
    return page.evaluate(f"(key) => {{ const c = {_FIND}; return {expression}; }}", key)


def wait_for_chart(page, key, expression):
    """Waits until JavaScript over `c`, the visible and drawn chart of a key, is true."""
    page.wait_for_function(
        f"(key) => {{ const c = {_FIND}; return Boolean(c && c.numDraws && ({expression})); }}",
        arg=key,
    )


def points(page, key, line=0):
    """[x, y] of one line; NaN and infinities as text."""
    script = """(() => {
        const line = c.lines[LINE];
        const list = (array) => [...array.slice(0, line.length)].map((v) => Number.isFinite(v) ? v : String(v));
        return [list(line.x), list(line.y)];
    })()"""
    x, y = chart(page, key, script.replace("LINE", str(line)))
    return x, y


def hover(page, key, x):
    """Puts the pointer over an x of a chart, halfway up, within the plot."""
    left, top = _place(page, key, x)
    page.mouse.move(left - 2, top)
    page.mouse.move(left, top)
    return page.locator(".tl-tooltip")


def drag(page, key, x0, x1):
    """Drags over a part of the x axis."""
    (left, top), (right, _) = _place(page, key, x0), _place(page, key, x1)
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move((left + right) / 2, top)
    page.mouse.move(right, top)
    page.mouse.up()


def _place(page, key, x):
    script = """(() => {
        const { left, right, top, height } = c.plot.over.getBoundingClientRect();
        const at = left + c.plot.valToPos(X, "x");
        return [Math.max(left + 1, Math.min(right - 1, at)), top + height / 2];
    })()"""
    return chart(page, key, script.replace("X", str(x), 1))


def ticks(page, key, axis):
    """The labels of an axis: 0 is x, 1 is y."""
    return chart(page, key, f"c.plot.axes[{axis}]._values.filter((label) => label !== null)")


def num_pixels(page, key, colour, where="true"):
    """How many pixels of the plot have a colour; `where` is over `x` and `y`, as shares of the plot's size."""
    script = """(() => {
        const { left, top, width, height } = c.plot.bbox;
        const data = c.plot.ctx.getImageData(left, top, width, height).data;
        const rgb = [1, 3, 5].map((i) => parseInt("COLOUR".slice(i, i + 2), 16));
        let num = 0;
        for (let i = 0; i < data.length; i += 4) {
            const x = (i / 4 % width) / width;
            const y = Math.floor(i / 4 / width) / height;
            const isNear = rgb.every((value, k) => Math.abs(data[i + k] - value) < 40) && data[i + 3] > 128;
            if (isNear && (WHERE)) num++;
        }
        return num;
    })()"""
    return chart(page, key, script.replace("COLOUR", colour).replace("WHERE", where))
