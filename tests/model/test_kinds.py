"""What kind of thing each module is."""

import pytest
import torch
from torch import nn

from tests.model import zoo
from trackio_like.model import build_model_graph
from trackio_like.model.hf import load_meta_model


def kinds(model):
    return {module.path: module.kind for module in build_model_graph(model).modules}


def published(name):
    return kinds(load_meta_model(zoo.CONFIGS[name])[0])


def test_llama():
    found = published("llama-7b")
    layer = "model.layers.0"
    assert {path: kind for path, kind in found.items() if path.startswith(layer)} == {
        layer: "block",
        f"{layer}.self_attn": "attention",
        **{f"{layer}.self_attn.{name}_proj": "linear" for name in "qkvo"},
        f"{layer}.mlp": "mlp",
        **{f"{layer}.mlp.{name}_proj": "linear" for name in ("gate", "up", "down")},
        f"{layer}.mlp.act_fn": "act",
        f"{layer}.input_layernorm": "norm",
        f"{layer}.post_attention_layernorm": "norm",
    }
    assert found["lm_head"] == "head"
    assert found["model.embed_tokens"] == "embedding"
    assert found["model.rotary_emb"] == "other"
    assert found["model"] == found["model.layers"] == found[""] == "container"


def test_words_in_class_names_decide_nothing():
    found = published("mixtral-8x7b")
    assert found["model.layers.0"] == "block"
    assert found["model.layers.0.input_layernorm"] == "norm"
    assert found["model.layers.0.self_attn"] == "attention"
    assert found["model.layers.0.mlp"] == found["model.layers.0.mlp.experts"] == "moe"
    assert found["model.layers.0.mlp.experts.act_fn"] == "act"
    assert published("qwen2-moe")["model.layers.0.mlp.shared_expert"] == "mlp"


def test_gpt2s_conv1d_is_linear():
    found = published("gpt2")
    assert found["transformer.h.0.attn.c_attn"] == "linear"
    assert found["transformer.h.0.attn"] == "attention"
    assert found["transformer.h.0.mlp"] == "mlp"
    assert found["lm_head"] == "head"


def test_wrappers_of_bert_and_t5():
    bert = published("bert")
    assert bert["bert.embeddings"] == "embedding"
    assert bert["bert.encoder.layer.0.attention"] == bert["bert.encoder.layer.0.attention.self"] == "attention"
    assert bert["bert.encoder.layer.0"] == "block"
    assert bert["cls"] == bert["cls.predictions.decoder"] == "head"
    t5 = published("t5-base")
    assert t5["encoder.block.1"] == t5["decoder.block.0"] == "block"
    assert t5["decoder.block.0.layer.1"] == "attention"
    assert t5["decoder.block.0.layer.2"] == "mlp"


def test_pictures():
    found = kinds(zoo.resnet18())
    assert found["conv1"] == "conv"
    assert found["maxpool"] == found["avgpool"] == "pool"
    assert found["layer1"] == "container"
    assert found["layer1.0"] == found["layer2.0"] == "block"
    assert found["layer2.0.downsample"] == "conv"
    assert found["fc"] == "head"
    assert published("vit")["vit.embeddings"] == "embedding"


def test_a_transformer_of_torch():
    found = kinds(nn.Transformer(16, 2, 2, 2, 32, batch_first=True))
    assert found["decoder.layers.0.multihead_attn"] == "attention"
    assert found["encoder.layers.0"] == found["decoder.layers.0"] == "block"
    assert found["encoder"] == "container"


class QuietNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.eps = 1e-6


class MoeAttentionNormConv(nn.Module):
    """A name that says everything."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)


class Fused(nn.Module):
    def __init__(self):
        super().__init__()
        self.num_heads = 2
        self.a = nn.Linear(8, 24)
        self.b = nn.Linear(8, 8)


@pytest.mark.parametrize(
    ("module", "kind"),
    [
        (QuietNorm(), "norm"),
        (MoeAttentionNormConv(), "linear"),
        (Fused(), "attention"),
        (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)), "mlp"),
        (nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.ReLU()), "conv"),
        (nn.EmbeddingBag(3, 4), "embedding"),
        (nn.PReLU(), "act"),
        (nn.InstanceNorm2d(3, affine=True), "norm"),
        (nn.Dropout(0.1), "other"),
        (nn.LSTM(3, 4), "other"),
        (nn.ModuleList([nn.Linear(4, 4)]), "container"),
        (nn.ConvTranspose2d(3, 4, 2), "conv"),
    ],
)
def test_single_modules(module, kind):
    around = nn.Module()
    around.part, around.rest, around.more = module, nn.Linear(4, 4), nn.LayerNorm(4)
    assert kinds(around)["part"] == kind


def test_a_model_without_a_head_has_none():
    assert "head" not in kinds(zoo.Stack([zoo.Residual()]).blocks[0]).values()


def test_a_mixture_of_listed_experts():
    found = kinds(zoo.MoeNet())
    assert found["moe"] == found["moe.gate"] == found["moe.experts"] == "moe"
    assert found["moe.experts.0"] == "mlp"
