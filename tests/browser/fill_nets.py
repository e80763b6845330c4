"""Logs the networks that the browser tests look at; run as a process of its own: `python fill_nets.py`."""

import itertools

import torch
from fill import NASTY  # type: ignore[import-not-found]  # beside this script
from torch import nn
from torch.nn import functional

import trackio_like as trackio
from trackio_like.model import build_model_graph


def mlp(*widths):
    layers = []
    for before, after in itertools.pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Block(nn.Module):
    """A layer as language models have it."""

    def __init__(self, width, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx
        self.norm = nn.LayerNorm(width)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm(x)
        y = functional.scaled_dot_product_attention(self.q_proj(y), self.k_proj(y), self.v_proj(y), is_causal=True)
        x = x + self.o_proj(y)
        return x + self.mlp(x)


class Language(nn.Module):
    """A small language model whose head is tied to its embedding."""

    def __init__(self, width=16, num=6):
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.layers = nn.ModuleList([Block(width, i) for i in range(num)])
        self.head = nn.Linear(width, 50, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Experts(nn.Module):
    def __init__(self, width, num):
        super().__init__()
        self.up, self.down = (nn.Parameter(torch.zeros(num, width, width)) for _ in range(2))

    def forward(self, x):
        return functional.silu(x.unsqueeze(-3) @ self.up) @ self.down


class Mixture(nn.Module):
    """Four experts, of which each row meets two, and a shared one."""

    def __init__(self, width=16, num=4):
        super().__init__()
        self.router = nn.Linear(width, num, bias=False)
        self.top_k = 2
        self.experts = Experts(width, num)
        self.shared_expert = mlp(width, width, width)

    def forward(self, x):
        weights, chosen = self.router(x).softmax(-1).topk(self.top_k, dim=-1)
        every = self.experts(x.unsqueeze(-2)).squeeze(-2)
        picked = every.gather(-2, chosen.unsqueeze(-1).expand(*chosen.shape, x.shape[-1]))
        return (picked * weights.unsqueeze(-1)).sum(-2) + self.shared_expert(x)


class Fails(nn.Module):
    """Breaks in its second layer."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(9, 8)

    def forward(self, x):
        return self.second(self.first(x))


def wide():
    """1,261 modules: 16 stages of 11 blocks of 6 layers, and what is around them."""
    blocks = [
        nn.Sequential(*[nn.Sequential(*[nn.Linear(4, 4) for _ in range(6)]) for _ in range(11)]) for _ in range(16)
    ]
    return nn.Sequential(nn.Sequential(*blocks), nn.Sequential(*[nn.Linear(4, 4) for _ in range(10)]))


def fill():
    with trackio.init(project="nets", name="beta") as run:
        run.log_model(Language(num=4, width=24), name="language", step=0, input_shape=(2, 8), trace=True)
        run.log_model(build_model_graph(wide(), "wide", (1, 4), trace=True, fold=False), name="wide")
        run.log_model(mlp(4, 4), name=NASTY)
    with trackio.init(project="nets", name="alpha") as run:
        for step, widths in enumerate([(10, 32, 4), (10, 32, 32, 4), (10, 64, 32, 4)]):
            run.log_model(mlp(*widths), name="mlp", step=10 * step, input_shape=(8, 10), trace=True)
        run.log_model(Language(), name="language", step=0, input_shape=(2, 8), trace=True, meta={"commit": "abc"})
        run.log_model(Mixture(), name="mixture", step=0, input_shape=(2, 16), trace=True)
        run.log_model(Fails(), name="fails", step=0, input_shape=(2, 8), trace=True)
        run.log_model(Language(), name="static", step=0)


if __name__ == "__main__":
    fill()
