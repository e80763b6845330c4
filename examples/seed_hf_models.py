"""Graphs of well-known language, vision and speech models, from their configurations alone: nothing is downloaded.

python examples/seed_hf_models.py                          # all of them, into the project "model-zoo"
python examples/seed_hf_models.py --only mixtral-8x7b --table
python examples/seed_hf_models.py --source Qwen/Qwen3-0.6B # a model on the Hub, or a folder, by its config.json

Needs torch and transformers. Weights are neither loaded nor made: a model of 671 billion parameters takes as little
memory as a small one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import trackio_like as trackio
from trackio_like.model import build_model_graph
from trackio_like.model.hf import load_meta_model

CONFIGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "bert-base": {"model_type": "bert", "architectures": ["BertForMaskedLM"]},
    "gpt2": {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]},
    "llama-7b": {"model_type": "llama", "architectures": ["LlamaForCausalLM"]},
    "llama-3.1-405b": {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 16384, "intermediate_size": 53248,
        "num_hidden_layers": 126, "num_attention_heads": 128, "num_key_value_heads": 8, "vocab_size": 128256,
    },
    "gemma-2-9b": {
        "model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "hidden_size": 3584,
        "intermediate_size": 14336, "num_hidden_layers": 42, "num_attention_heads": 16, "num_key_value_heads": 8,
    },
    "mixtral-8x7b": {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"]},
    "qwen1.5-moe": {"model_type": "qwen2_moe", "architectures": ["Qwen2MoeForCausalLM"]},
    "deepseek-v3": {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"]},
    "t5-base": {
        "model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 768, "d_ff": 3072,
        "num_layers": 12, "num_heads": 12,
    },
    "mamba-130m": {
        "model_type": "mamba", "architectures": ["MambaForCausalLM"], "num_hidden_layers": 24, "hidden_size": 768,
    },
    "vit-base": {"model_type": "vit", "architectures": ["ViTForImageClassification"], "num_labels": 1000},
    "clip-vit-base": {"model_type": "clip", "architectures": ["CLIPModel"]},
    "whisper-small": {
        "model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "d_model": 768,
        "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 12, "decoder_attention_heads": 12,
        "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072,
    },
}  # fmt: skip
"""Configurations of the real sizes; what is left out is the default of the model's kind."""


def seed(names: Sequence[str], sources: Sequence[str], *, prints_table: bool) -> None:
    """Logs a graph of each model into one run.

    Args:
        names: keys of `CONFIGS`.
        sources: folders with a config.json, or ids of models on the Hub.
        prints_table: whether to print each graph as a table.
    """
    run = trackio.init(project="model-zoo", name="graphs")
    for name, source in [*((name, CONFIGS[name]) for name in names), *((source, source) for source in sources)]:
        model, _ = load_meta_model(source)
        start = time.perf_counter()
        graph = build_model_graph(model, name, trace=True)
        seconds = time.perf_counter() - start
        run.log_model(graph, name)
        totals = graph.meta.totals
        print(
            f"{name}: {totals.unique / 1e9:.3g} billion parameters, {totals.active / 1e9:.3g} for one token; "
            f"{graph.meta.num_modules} modules shown as {len(graph.modules)}; {graph.meta.trace_mode}, {seconds:.2f} s"
        )
        if prints_table:
            print(graph.summary_text())
    run.finish()


def main(arguments: Sequence[str]) -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CONFIGS, metavar="NAME", help=f"some of {', '.join(CONFIGS)}")
    parser.add_argument("--source", nargs="+", default=[], help="folders with a config.json, or ids on the Hub")
    parser.add_argument("--table", action="store_true", help="print each graph as a table, too")
    chosen = parser.parse_args(arguments)
    names = chosen.only or ([] if chosen.source else list(CONFIGS))
    seed(names, chosen.source, prints_table=chosen.table)


if __name__ == "__main__":
    main(sys.argv[1:])
