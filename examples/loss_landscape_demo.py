"""Loss landscapes of a small convolutional network while it learns, and how to compute one by hand.

python examples/loss_landscape_demo.py                # train, log a landscape for each epoch; look at the tab
python examples/loss_landscape_demo.py --self-check   # check the mathematics; needs no data set
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Sequence

import torch
from torch import nn

import trackio_like as trackio
from trackio_like.landscape import evaluate_grid, filter_normalized_directions

Batches = Sequence[tuple[torch.Tensor, torch.Tensor]]


def make_network() -> nn.Module:
    """A network for 8 x 8 grey images, with batch norm."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, stride=2, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 16, 10),
    )


def load_digits(batch_size: int = 128) -> Batches:
    """The digits that scikit-learn brings along, in batches."""
    from sklearn.datasets import load_digits as load  # noqa: PLC0415 - the self-check does without it

    images, labels = load(return_X_y=True)
    x = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    y = torch.tensor(labels, dtype=torch.int64)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    return list(zip(x[order].split(batch_size), y[order].split(batch_size), strict=True))


def train(num_epochs: int) -> None:
    """Trains, and logs the landscape around each epoch's weights, then the way that training took."""
    batches = load_digits()
    torch.manual_seed(0)
    network = make_network()
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    run = trackio.init(project="landscapes", name="cnn", config={"lr": 3e-3})
    checkpoints = {"start": copy.deepcopy(network.state_dict())}
    for epoch in range(num_epochs):
        for x, y in batches:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(network(x), y)
            loss.backward()
            optimizer.step()
            run.log({"loss": loss})
        # One line; the weights, the optimizer and the random numbers are as if it had not been there.
        run.log_loss_landscape(network, batches)
        checkpoints[f"epoch {epoch + 1}"] = copy.deepcopy(network.state_dict())
    run.log_loss_landscape(network, batches, name="curvature", directions="hessian", n=31)
    run.log_loss_landscape(
        network, batches, name="way", directions="trajectory", checkpoints=checkpoints, bn="recalibrate", n=31
    )
    run.log_loss_landscape(network, batches, name="from the start", model_b=checkpoints["start"], line=True)
    run.finish()


# -- by hand: what log_loss_landscape() does, for other frameworks to follow -----------------------------------------


def landscape_by_hand(model: nn.Module, batches: Batches, *, num: int, seed: int) -> list[list[float]]:
    """The losses on a grid of [-1, 1] x [-1, 1], the slow and plain way; rows are y, columns are x.

    Log the result with `trackio.log_loss_landscape(grid, x_range=(-1, 1), y_range=(-1, 1), meta={...})`.
    """
    model = copy.deepcopy(model).eval()  # batch norm's running statistics must neither be used up nor be moved
    centre = [parameter.detach().clone() for parameter in model.parameters()]
    generator = torch.Generator().manual_seed(seed)
    delta, eta = ([direction_of(parameter, generator) for parameter in centre] for _ in range(2))
    steps = [2 * i / (num - 1) - 1 for i in range(num)]  # an odd number of them: one is 0, the weights themselves
    grid = []
    for y in steps:
        row = []
        for x in steps:
            for parameter, theta, d, e in zip(model.parameters(), centre, delta, eta, strict=True):
                parameter.data = theta + x * d + y * e  # from the centre each time: steps would add up their rounding
            row.append(mean_loss(model, batches))
        grid.append(row)
    return grid


def direction_of(theta: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Noise whose filters are as long as those of θ; 0 for biases and norm layers, which have one dimension."""
    if theta.ndim < 2:
        return torch.zeros_like(theta)
    noise = torch.randn(theta.shape, generator=generator)
    axes = tuple(range(1, theta.ndim))  # a filter is all that leads to one output channel
    length = torch.linalg.vector_norm(noise, dim=axes, keepdim=True)
    return noise / length * torch.linalg.vector_norm(theta, dim=axes, keepdim=True)


def mean_loss(model: nn.Module, batches: Batches) -> float:
    """The loss over all samples; a short last batch counts less."""
    with torch.no_grad():
        total = sum(float(nn.functional.cross_entropy(model(x).double(), y)) * len(y) for x, y in batches)
    return total / sum(len(y) for _, y in batches)


# -- the self-check --------------------------------------------------------------------------------------------------


def self_check() -> None:
    """Checks the mathematics on made-up data; raises AssertionError where something does not hold."""
    torch.manual_seed(0)
    model = make_network().train()
    batches = [(torch.randn(32, 1, 8, 8), torch.randint(0, 10, (32,))) for _ in range(2)]
    for x, _ in batches:
        model(x)  # gives batch norm statistics
    state = copy.deepcopy(model.state_dict())
    delta, eta = filter_normalized_directions(model, seed=1)

    moved = [(theta, d) for theta, *ds in zip(model.parameters(), delta, eta, strict=True) for d in ds]
    lengths = [
        [torch.linalg.vector_norm(t.detach().flatten(1), dim=1) for t in pair] for pair in moved if pair[0].ndim > 1
    ]
    check(
        all(torch.allclose(*pair, rtol=1e-5) for pair in lengths),
        "each filter of a direction is as long as the model's",
    )
    check(not any(d.any() for theta, d in moved if theta.ndim < 2), "biases and norm layers do not move")

    grid = evaluate_grid(model, batches, delta, eta, n=5)
    model.eval()
    check(abs(grid[2, 2] - mean_loss(model, batches)) < 1e-6, "the middle of the grid is the loss at the weights")
    elsewhere = copy.deepcopy(model)
    with torch.no_grad():
        for parameter, d, e in zip(elsewhere.parameters(), delta, eta, strict=True):
            parameter.add_(0.5 * d - 1.0 * e)
    check(abs(grid[0, 3] - mean_loss(elsewhere, batches)) < 1e-5 * grid[0, 3], "row 0, column 3 is y = -1, x = 0.5")

    # Before batch norm the size of a filter does not matter: eight times as large, it is the same network.
    # Filter normalisation shows the same surface; plain noise shows another one, whose features mean nothing.
    twin = copy.deepcopy(model)
    with torch.no_grad():
        twin[0].weight *= 8
        twin[1].running_mean *= 8
        twin[1].running_var *= 64
        twin[1].eps *= 64
    same = evaluate_grid(twin, batches, *filter_normalized_directions(twin, seed=1), n=5)
    check(abs(same / grid - 1).max() < 1e-4, "networks that are the same function have the same surface")
    noise = [torch.randn_like(theta) if theta.ndim > 1 else torch.zeros_like(theta) for theta in model.parameters()]
    plain, plain_twin = (evaluate_grid(one, batches, noise, noise[:1] + eta[1:], n=5) for one in (model, twin))
    check(abs(plain_twin / plain - 1).max() > 0.1, "without filter normalisation they have different ones")

    model.train()
    check(
        all(torch.equal(state[name], tensor) for name, tensor in model.state_dict().items()), "the model is as it was"
    )
    by_hand = landscape_by_hand(model, batches, num=3, seed=0)
    check(abs(by_hand[1][1] - grid[2, 2]) < 1e-6, "the way by hand agrees at the weights")
    print("All checks passed.")


def check(holds: bool, what: str) -> None:
    """Says what was checked.

    Raises:
        AssertionError: it does not hold.
    """
    if not holds:
        raise AssertionError(f"It does not hold that {what}.")
    print(f"ok: {what}")


def main(arguments: Sequence[str]) -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-check", action="store_true", help="check the mathematics and end")
    parser.add_argument("--epochs", type=int, default=6, help="how long to train (default: 6)")
    chosen = parser.parse_args(arguments)
    if chosen.self_check:
        self_check()
    else:
        train(chosen.epochs)


if __name__ == "__main__":
    main(sys.argv[1:])
