"""What the tests ask a page about its charts."""

import json


def card(page, key):
    """The card of a key on the Metrics tab."""
    return page.locator(f".tl-card[data-key={json.dumps(key)}]")


def chart(page, key, expression):
    """Evaluates JavaScript over `c`, the visible chart of a key."""
    return page.evaluate(
        f"(key) => {{ const c = [...TL.charts].find((item) => item.key === key && item.isVisible); return {expression}; }}", key
    )


def wait_for_chart(page, key, expression):
    """Waits until JavaScript over `c`, the visible and loaded chart of a key, is true."""
    page.wait_for_function(
        f"(key) => {{ const c = [...(window.TL?.charts ?? [])].find((item) => item.key === key && item.isVisible && item.plot);"
        f" return Boolean(c && c.numDraws && ({expression})); }}",
        arg=key,
    )


def points(page, key, line=0):
    """[x, y] of one line; NaN and infinities as text."""
    x, y = chart(
        page,
        key,
        f"(() => {{ const l = c.lines[{line}]; const list = (a) => [...a.slice(0, l.length)].map((v) => Number.isFinite(v) ? v : String(v));"
        " return [list(l.x), list(l.y)]; })()",
    )
    return x, y


def hover(page, key, x):
    """Puts the pointer over an x of a chart, halfway up."""
    at = chart(
        page,
        key,
        f"(() => {{ const r = c.plot.over.getBoundingClientRect(); return [Math.max(r.left + 1, Math.min(r.right - 1, r.left + c.plot.valToPos({x}, 'x'))), r.top + r.height / 2]; }})()",
    )
    page.mouse.move(at[0] - 2, at[1])
    page.mouse.move(at[0], at[1])
    return page.locator(".tl-tooltip")


def drag(page, key, x0, x1):
    """Drags over a part of the x axis."""
    a, b, y = chart(
        page,
        key,
        f"(() => {{ const r = c.plot.over.getBoundingClientRect(); const at = (v) => r.left + c.plot.valToPos(v, 'x');"
        f" return [at({x0}), at({x1}), r.top + r.height / 2]; }})()",
    )
    page.mouse.move(a, y)
    page.mouse.down()
    page.mouse.move((a + b) / 2, y)
    page.mouse.move(b, y)
    page.mouse.up()


def ticks(page, key, axis):
    """The labels of an axis: 0 is x, 1 is y."""
    return chart(page, key, f"c.plot.axes[{axis}]._values.filter((label) => label !== null)")


def num_pixels(page, key, colour, where="true"):
    """How many pixels of the plot have a colour; `where` is over `x` and `y`, as shares of the plot's size."""
    return chart(
        page,
        key,
        f"""(() => {{
            const {{ left, top, width, height }} = c.plot.bbox;
            const data = c.plot.ctx.getImageData(left, top, width, height).data;
            const rgb = [1, 3, 5].map((i) => parseInt('{colour}'.slice(i, i + 2), 16));
            let num = 0;
            for (let i = 0; i < data.length; i += 4) {{
                const x = (i / 4 % width) / width, y = Math.floor(i / 4 / width) / height;
                if (rgb.every((value, k) => Math.abs(data[i + k] - value) < 40) && data[i + 3] > 128 && ({where})) num++;
            }}
            return num;
        }})()""",
    )
