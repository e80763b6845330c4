"""Small trained networks whose surfaces differ: smooth, steep, kinked, chaotic."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x):
        return x + self.inner(x)


class Sequences(nn.Module):
    """A recurrent network or a transformer over token ids."""

    def __init__(self, kind):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.body = (
            nn.LSTM(16, 16, batch_first=True)
            if kind == "lstm"
            else nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        )
        self.head = nn.Linear(16, 4)

    def forward(self, ids):
        found = self.body(self.embedding(ids))
        return self.head((found[0] if isinstance(found, tuple) else found).mean(1))


def mlp(*sizes, act=nn.ReLU):
    layers = []
    for num_in, num_out in pairwise(sizes):
        layers += [nn.Linear(num_in, num_out), act()]
    return nn.Sequential(*layers[:-1])


def cnn(*, norm):
    def block(num_in, num_out):
        return [nn.Conv2d(num_in, num_out, 3, padding=1), *([nn.BatchNorm2d(num_out)] if norm else []), nn.ReLU()]

    return nn.Sequential(
        *block(1, 6), nn.MaxPool2d(2), *block(6, 12), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 4)
    )


def deep(depth, *, skips):
    """Without skips, small steps in the weights become large ones in the loss: a chaotic surface."""
    if skips:
        return nn.Sequential(nn.Linear(8, 16), *(Residual(16) for _ in range(depth // 2)), nn.Linear(16, 4))
    network = mlp(8, *[32] * depth, 4)
    for layer in network:
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    return network


def vectors(generator):
    y = torch.randint(0, 4, (64,), generator=generator)
    centres = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))
    return centres[y] + torch.randn(64, 8, generator=generator), y


def images(generator):
    y = torch.randint(0, 4, (32,), generator=generator)
    centres = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    return centres[y] + torch.randn(32, 1, 8, 8, generator=generator), y


def tokens(generator):
    y = torch.randint(0, 4, (32,), generator=generator)
    ids = torch.randint(0, 5, (32, 6), generator=generator) + 5 * y[:, None]
    return torch.where(
        torch.rand(32, 6, generator=generator) < 0.3, torch.randint(0, 20, (32, 6), generator=generator), ids
    ), y


def numbers(generator):
    x = torch.randn(64, 8, generator=generator)
    return x, (x[:, :2] * x[:, 2:4]).sum(1, keepdim=True)


SURFACES = {
    "mlp, tanh": (lambda: mlp(8, 32, 4, act=nn.Tanh), vectors, 40),
    "mlp, relu": (lambda: mlp(8, 32, 32, 4), vectors, 40),
    "mlp, not trained": (lambda: mlp(8, 32, 32, 4), vectors, 0),
    "regression": (lambda: mlp(8, 32, 1), numbers, 40),
    "cnn": (lambda: cnn(norm=False), images, 40),
    "cnn, batch norm": (lambda: cnn(norm=True), images, 40),
    "lstm": (lambda: Sequences("lstm"), tokens, 40),
    "transformer": (lambda: Sequences("transformer"), tokens, 40),
    "deep, with skips": (lambda: deep(12, skips=True), vectors, 60),
    "deep, without skips": (lambda: deep(24, skips=False), vectors, 0),
}
"""Name to (network, batch, steps of training)."""


def trained(name):
    """A network, its batches, and its loss."""
    make, batch, num_steps = SURFACES[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = make()
    generator = torch.Generator().manual_seed(2)
    criterion = nn.functional.mse_loss if name == "regression" else nn.functional.cross_entropy
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2 if num_steps else 0.0)
    for _ in range(num_steps):
        x, y = batch(generator)
        optimizer.zero_grad()
        criterion(network(x), y).backward()
        optimizer.step()
    if name == "cnn, batch norm" and not num_steps:
        network(batch(generator)[0])
    batches = [batch(generator) for _ in range(2)]
    return network, batches, nn.MSELoss() if name == "regression" else None
