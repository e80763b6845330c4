"""What a person sees: time to the first chart, what the page costs while it is live, and `log()` to pixel."""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import sys
import time
from urllib.parse import urlsplit

from playwright.sync_api import Page, sync_playwright

import trackio_like as trackio
from benchmarks.places import fresh_root, pause
from benchmarks.queries import LIVE
from benchmarks.report import Line, run
from benchmarks.serving import Dashboard, dashboard

NUM_LOADS = 3
LIVE_S = 10
NUM_FRESH = 15
CHART_READY = "document.querySelector('[data-key][data-ready=\"1\"][data-draws]') !== null"


def measure() -> list[Line]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("No Chromium is installed; run `make system` first.")
    with fresh_root(), dashboard() as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        foreign: list[str] = []
        errors: list[str] = []

        def new_page() -> Page:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.on("request", lambda r: foreign.append(r.url) if is_foreign(r.url) else None)
            page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: errors.append(str(error)))
            return page

        lines = live_page(served, new_page) + freshness(served, new_page)
        browser.close()
    return [
        *lines,
        Line(what="requests to other hosts", measured=len(foreign), unit="", bar=0, note=" ".join(foreign[:3])),
        Line(what="errors in the page's console", measured=len(errors), unit="", bar=0, note=" ".join(errors[:2])),
    ]


def is_foreign(url: str) -> bool:
    """Whether an address leads away from this machine."""
    parts = urlsplit(url)
    return parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in ("127.0.0.1", "localhost")


def live_page(served: Dashboard, new_page) -> list[Line]:
    """20 live runs of 50 metrics and 2,000 points."""
    with subprocess.Popen([sys.executable, "-c", LIVE, "live"], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        pause(3)
        loads = []
        page = new_page()
        for _ in range(NUM_LOADS):
            page.close()
            page = new_page()
            start = time.perf_counter()
            page.goto(f"{served.url}/?project=live", wait_until="commit")
            page.wait_for_function(CHART_READY, polling=20, timeout=60_000)
            loads.append(time.perf_counter() - start)
        pause(2)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        busy, drawn = task_s(session), num_draws(page)
        nodes = page.evaluate(
            "window.__cards = [...document.querySelectorAll('[data-key] canvas')]; window.__cards.length"
        )
        start = time.perf_counter()
        pause(LIVE_S)
        taken = time.perf_counter() - start
        main_ms = (task_s(session) - busy) / taken * 1000
        drawn = num_draws(page) - drawn
        kept = page.evaluate("window.__cards.filter((node) => node.isConnected).length")
        child.kill()
        page.close()
    note = f"best {min(loads):.2f}, worst {max(loads):.2f}"
    return [
        Line(
            what="first chart, 20 runs x 50 metrics x 2,000",
            measured=statistics.median(loads),
            unit="s",
            bar=2,
            note=note,
        ),
        Line(
            what="main thread while live",
            measured=main_ms,
            unit="ms/s",
            bar=200,
            note=f"{drawn} charts drawn in {LIVE_S} s",
        ),
        Line(what="  chart nodes rebuilt", measured=nodes - kept, unit="", bar=0, note=f"of {nodes}"),
    ]


def task_s(session) -> float:
    """Seconds that the page's main thread has been busy."""
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def num_draws(page: Page) -> int:
    """How often charts have been drawn since the page began."""
    code = "[...document.querySelectorAll('[data-draws]')].reduce((sum, card) => sum + Number(card.dataset.draws), 0)"
    return int(page.evaluate(code))


def freshness(served: Dashboard, new_page) -> list[Line]:
    """From `log()` to the chart that shows the point, at random moments."""
    rng = random.Random(0)
    trackio.init(project="fresh", name="fresh")
    trackio.log({"value": 0.0})
    page = new_page()
    page.goto(f"{served.url}/?project=fresh")
    page.wait_for_function(CHART_READY, timeout=60_000)
    taken = []
    for i in range(NUM_FRESH):
        pause(rng.uniform(0.5, 2))
        start = time.perf_counter()
        trackio.log({"value": float(i)})
        page.wait_for_function(
            f"Number(document.querySelector('[data-key=\"value\"]')?.dataset.points) >= {i + 2}",
            polling=20,
            timeout=30_000,
        )
        taken.append(time.perf_counter() - start)
    trackio.finish()
    page.close()
    return [
        Line(
            what="log() to pixel", measured=statistics.median(taken), unit="s", bar=2.5, note=f"worst {max(taken):.2f}"
        ),
    ]


if __name__ == "__main__":
    run(measure, __doc__ or "")
