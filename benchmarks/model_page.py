"""The Model tab: a network of 1,261 modules opens collapsed, and a block of a transformer opens in place."""

from __future__ import annotations

import shutil
from urllib.parse import urlencode

import torch
from playwright.sync_api import Page, sync_playwright
from torch import nn

import trackio_like as trackio
from benchmarks.places import fresh_root
from benchmarks.report import Line, run
from benchmarks.serving import Dashboard, dashboard
from trackio_like.model import build_model_graph

SETTLED = (
    "() => Boolean(window.TL?.model?.opening?.numVisible) && performance.getEntriesByName('model-layout').length > %d"
)
LAST_MS = "performance.getEntriesByName('model-layout').at(-1).duration"


def measure() -> list[Line]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("No Chromium is installed; run `make system` first.")
    with fresh_root(), sync_playwright() as playwright:
        with trackio.init(project="nets", name="nets") as logged:
            logged.log_model(build_model_graph(wide(), "wide", (1, 4), trace=True, fold=False), name="wide")
            layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
            encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
            logged.log_model(encoder, name="encoder", example_inputs=(torch.randn(2, 8, 64),), trace=True)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        with dashboard() as served:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            opened_ms = open_graph(page, served, "wide")
            open_graph(page, served, "encoder")
            num_before = page.evaluate("performance.getEntriesByName('model-layout').length")
            page.locator("rect.tl-model-opener").last.click()
            page.wait_for_function(SETTLED % num_before)
            expanded_ms = page.evaluate(LAST_MS)
        browser.close()
    return [
        Line(what="1,261 modules laid out and drawn, collapsed", measured=opened_ms, unit="ms", bar=1500),
        Line(what="a transformer block opened or closed in place", measured=expanded_ms, unit="ms", bar=500),
    ]


def wide() -> nn.Module:
    """1,261 modules: 16 stages of 11 blocks of 6 layers, and what is around them."""
    blocks = [
        nn.Sequential(*[nn.Sequential(*[nn.Linear(4, 4) for _ in range(6)]) for _ in range(11)]) for _ in range(16)
    ]
    return nn.Sequential(nn.Sequential(*blocks), nn.Sequential(*[nn.Linear(4, 4) for _ in range(10)]))


def open_graph(page: Page, served: Dashboard, name: str) -> float:
    """Opens the tab; returns what its first layout took, in milliseconds."""
    view = {"project": "nets", "tab": "model", "model": f'{{"name": "{name}"}}'}
    page.goto(f"{served.url}/?{urlencode(view)}")
    page.wait_for_function(SETTLED % 0)
    return float(page.evaluate(LAST_MS))


if __name__ == "__main__":
    run(measure, __doc__ or "")
