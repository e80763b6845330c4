"""Tiny models of many kinds, each with batches: what people train, and what breaks tools that look at it."""

# mypy: disable-error-code="misc"
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

SEED = 3


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model at some weights, its data, and how its loss is made."""

    model: nn.Module
    batches: list[Any]
    criterion: Any = None
    loss_fn: Any = None
    can_vector: bool = True
    """Whether `vmap` runs it; a test holds it to that."""
    options: dict[str, Any] = field(default_factory=dict)


class Residual(nn.Module):
    def __init__(self, norm=nn.Identity):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.norm1 = norm(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm2 = norm(8)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        h = nn.functional.relu(self.norm1(self.conv1(x)))
        h = h + nn.functional.relu(self.norm2(self.conv2(h)))
        return self.head(h.mean((2, 3)))


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(48, 16), nn.Dropout(0.5), nn.GELU(), nn.Linear(16, 16), nn.AlphaDropout(0.3),
            nn.Linear(16, 4),
        )  # fmt: skip

    def forward(self, x):
        # Drop path, as people write it themselves.
        h = self.layers(x)
        return h * (torch.rand(len(h), 1) > 0.2) if self.training else h


class TiedTransformer(nn.Module):
    """A language model whose head is its embedding."""

    def __init__(self, num_tokens=19, width=8):
        super().__init__()
        self.embedding = nn.Embedding(num_tokens, width)
        self.position = nn.Parameter(torch.randn(1, 6, width) * 0.1)
        self.block = nn.TransformerEncoderLayer(width, 2, 16, batch_first=True, norm_first=True)
        self.head = nn.Linear(width, num_tokens, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], dtype=self.position.dtype)
        h = self.embedding(tokens) + self.position[:, : tokens.shape[1]]
        return self.head(self.block(h, src_mask=mask))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn = kind(1, 6, num_layers=2, batch_first=True, dropout=0.2)
        self.head = nn.Linear(6, 1)

    def forward(self, series):
        out, _ = self.rnn(series)
        return self.head(out[:, -1])


class Branching(nn.Module):
    """Control flow that depends on the data and on the weights."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 8)
        self.second = nn.Linear(8, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        h = torch.tanh(self.first(x))
        for _ in range(1 + int(h.abs().mean().item() > 0)):
            h = torch.tanh(self.second(h))
        return self.head(h)


class LowRank(nn.Module):
    """A frozen layer with a trainable low-rank addition; B begins at 0, as it does in practice."""

    def __init__(self, num_in, num_out, rank=2, *, is_zero=False):
        super().__init__()
        self.base = nn.Linear(num_in, num_out)
        self.base.requires_grad_(False)
        self.lora_A = nn.Linear(num_in, rank, bias=False)
        self.lora_B = nn.Linear(rank, num_out, bias=False)
        if is_zero:
            nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base(x) + self.lora_B(self.lora_A(x))


class Decoder(nn.Module):
    """Transposed and grouped convolutions, one filter to an image."""

    def __init__(self):
        super().__init__()
        self.grouped = nn.Conv2d(4, 8, 3, padding=1, groups=2)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.up = nn.ConvTranspose2d(8, 6, 2, stride=2, groups=2)
        self.out = nn.Conv2d(6, 1, 3, padding=1)

    def forward(self, x):
        return self.out(
            nn.functional.silu(self.up(nn.functional.silu(self.depthwise(nn.functional.silu(self.grouped(x))))))
        )


class TwoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(3, 6)
        self.right = nn.Embedding(7, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, numbers, codes):
        return self.head(torch.tanh(self.left(numbers) + self.right(codes)))


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(10, 4)
        self.decoder = nn.Linear(4, 10)

    def forward(self, x):
        return {"code": (code := torch.tanh(self.encoder(x))), "image": self.decoder(code)}


def mlp(sizes=(6, 12, 12, 4)) -> nn.Sequential:
    layers: list[nn.Module] = []
    for num_in, num_out in itertools.pairwise(sizes):
        layers += [nn.Linear(num_in, num_out), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def images(*sizes: int, channels=3, side=6, num_classes=4) -> list[Any]:
    return [(torch.randn(n, channels, side, side), torch.randint(0, num_classes, (n,))) for n in sizes]


def _cnn() -> Case:
    return Case(model=Residual(), batches=images(5, 5, 3))


def _cnn_bn() -> Case:
    model = Residual(nn.BatchNorm2d)
    batches = images(6, 6, 2)
    for x, _ in batches:  # running statistics of their own
        model(x)
    model.train()
    model.norm1.eval()  # a frozen one among those that train
    return Case(model=model, batches=batches)


def _dropout() -> Case:
    return Case(model=Dropped().train(), batches=images(6, 4, side=4))


def _tied() -> Case:
    batches = []
    for n in (4, 3):
        tokens = torch.randint(0, 19, (n, 6))
        batches.append((tokens, torch.where(torch.rand(n, 6) < 0.4, -100, tokens.roll(-1, 1))))
    return Case(model=TiedTransformer(), batches=batches)


def _recurrent(kind) -> Case:
    batches = [(torch.randn(n, 7, 1), torch.randn(n, 1)) for n in (5, 2)]
    # torch has no batching rule for recurrent kernels whose weights are batched.
    return Case(model=Recurrent(kind), batches=batches, criterion=nn.MSELoss(), can_vector=False)


def _branching() -> Case:
    batches = [(torch.randn(n, 5), torch.randint(0, 3, (n,))) for n in (6, 4)]
    return Case(model=Branching(), batches=batches, can_vector=False)


def _lora() -> Case:
    model = nn.Sequential(LowRank(6, 8), nn.Tanh(), LowRank(8, 8), nn.Tanh(), LowRank(8, 4))
    return Case(model=model, batches=[(torch.randn(n, 6), torch.randint(0, 4, (n,))) for n in (7, 7, 4)])


def _decoder() -> Case:
    batches = [(torch.randn(n, 4, 4, 4), torch.randn(n, 1, 8, 8)) for n in (3, 2)]
    return Case(model=Decoder(), batches=batches, criterion=nn.MSELoss())


def _mlp() -> Case:
    return Case(model=mlp(), batches=[(torch.randn(n, 6), torch.randint(0, 4, (n,))) for n in (8, 8, 5)])


def _autoencoder() -> Case:
    def loss(model, batch):
        return (model(batch)["image"] - batch).square().mean() + 1e-2 * sum(
            p.square().sum() for p in model.parameters()
        )

    return Case(model=Autoencoder(), batches=[torch.randn(n, 10) for n in (6, 6, 1)], loss_fn=loss)


def _three() -> Case:
    batches = [(torch.randn(n, 3), torch.randint(0, 7, (n,)), torch.randint(0, 3, (n,))) for n in (5, 4)]
    return Case(model=TwoInputs(), batches=batches)


def _named_inputs() -> Case:
    batches = [
        ({"codes": torch.randint(0, 7, (n,)), "numbers": torch.randn(n, 3)}, torch.randint(0, 3, (n,))) for n in (5, 4)
    ]
    return Case(model=TwoInputs(), batches=batches)


def _bert() -> Case:
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=23, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=8, num_labels=3,
    )  # fmt: skip
    batches = [
        {
            "input_ids": torch.randint(0, 23, (n, 5)),
            "attention_mask": torch.ones(n, 5, dtype=torch.long),
            "labels": torch.randint(0, 3, (n,)),
        }
        for n in (4, 2)
    ]
    return Case(model=BertForSequenceClassification(config), batches=batches)


def _llama() -> Case:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=23, hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=16,
    )  # fmt: skip
    batches = []
    for n in (4, 2):
        tokens = torch.randint(0, 23, (n, 6))
        batches.append({"input_ids": tokens, "labels": torch.where(torch.rand(n, 6) < 0.3, -100, tokens)})
    return Case(model=LlamaForCausalLM(config), batches=batches)


KINDS: dict[str, Callable[[], Case]] = {
    "cnn": _cnn,
    "cnn-bn": _cnn_bn,
    "dropout": _dropout,
    "tied-transformer": _tied,
    "lstm": functools.partial(_recurrent, nn.LSTM),
    "gru": functools.partial(_recurrent, nn.GRU),
    "control-flow": _branching,
    "lora": _lora,
    "decoder": _decoder,
    "mlp": _mlp,
    "autoencoder": _autoencoder,
    "three-tuple": _three,
    "named-inputs": _named_inputs,
    "bert": _bert,
    "llama": _llama,
}


def make(kind: str) -> Case:
    """A case, the same at each call; training's random numbers are left as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return KINDS[kind]()


def as_bf16(case: Case) -> Case:
    """The same model in bfloat16."""

    def cast(value):
        if isinstance(value, torch.Tensor):
            return value.bfloat16() if value.is_floating_point() else value
        if isinstance(value, dict):
            return {key: cast(item) for key, item in value.items()}
        return tuple(cast(item) for item in value)

    return Case(
        model=case.model.bfloat16(),
        batches=[cast(batch) for batch in case.batches],
        criterion=case.criterion,
        loss_fn=case.loss_fn,
        can_vector=case.can_vector,
    )
