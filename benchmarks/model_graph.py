"""Model graphs: traces of language models that fit on no machine here, each in a fresh process, one thread, no GPU.

Seconds are CPU seconds of one trace of 64 tokens, names of sizes included, after a trace of a small model has loaded
what is loaded once. Memory is the highest resident size meanwhile, over that before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import torch

from benchmarks.report import Line, run
from trackio_like.model.trace import trace_model

SIZES_405B = {
    "hidden_size": 16384, "intermediate_size": 53248, "num_hidden_layers": 126, "num_attention_heads": 128,
    "num_key_value_heads": 8, "vocab_size": 128256,
}  # fmt: skip
SMALL = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}

MODELS: dict[str, tuple[str, dict[str, Any], dict[str, Any], float, float | None]] = {
    "Llama 7B": ("Llama", {}, SMALL, 0.5, 20),
    "Llama 405B": ("Llama", SIZES_405B, SMALL, 3, 40),
    "DeepSeek-V3 671B": (
        "DeepseekV3",
        {},
        {**SMALL, "num_key_value_heads": 4, "n_routed_experts": 16, "first_k_dense_replace": 1},
        3,
        40,
    ),
    "Mamba 130M": ("Mamba", {"num_hidden_layers": 24}, {"hidden_size": 32, "num_hidden_layers": 2}, 10, None),
}
"""The family, what its configuration has, that of a small one, seconds at most, MB at most."""


def measure() -> list[Line]:
    lines: list[Line] = []
    for name, (_, _, _, most_s, most_mb) in MODELS.items():
        command = [sys.executable, "-c", f"from benchmarks.model_graph import print_one; print_one({name!r})"]
        root, environment = Path(__file__).resolve().parents[1], {**os.environ, "HF_HUB_OFFLINE": "1"}
        out = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True).stdout
        found = json.loads(out.splitlines()[-1])
        note = f"{found['modules']} modules, {found['ops']} operations, {found['flops'] / 1e9:,.0f} GFLOP"
        lines.append(Line(what=f"trace of {name}", measured=found["cpu_s"], unit="CPU s", bar=most_s, note=note))
        lines.append(Line(what=f"memory for {name}", measured=found["rise_mb"], unit="MB", bar=most_mb))
    return lines


def print_one(name: str) -> None:
    """Prints the figures of one model; in a process of its own."""
    torch.set_num_threads(1)
    family, config, small, _, _ = MODELS[name]
    inputs = {"input_ids": torch.zeros(1, 64, dtype=torch.long)}
    trace_model(made(family, small), (), inputs)
    model = made(family, config)
    before = psutil.Process().memory_info().rss
    Path("/proc/self/clear_refs").write_text("5")  # starts the peak anew
    started = time.process_time()
    trace = trace_model(model, (), inputs)
    cpu_s = time.process_time() - started
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))
    assert not trace.error, trace.error
    figures = {"cpu_s": cpu_s, "rise_mb": (peak - before) / 1e6, "ops": len(trace.ops), "flops": trace.flops}
    print(json.dumps({**figures, "modules": sum(1 for _ in model.modules())}))


def made(family: str, config: dict[str, Any]) -> Any:
    """A model from its configuration, on the meta device."""
    import transformers

    kind = "MambaForCausalLM" if family == "Mamba" else f"{family}ForCausalLM"
    with torch.device("meta"):
        return getattr(transformers, kind)(getattr(transformers, f"{family}Config")(**config)).eval()


if __name__ == "__main__":
    run(measure, __doc__)
