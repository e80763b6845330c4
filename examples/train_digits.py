"""Trains a small network on scikit-learn's handwritten digits, four times with other settings, and logs all of it.

The network and its optimizers are written out in numpy, so that nothing but the logging is new to read. About a minute.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import trackio_like as trackio

Array = NDArray[np.float32]
Labels = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What one run is trained with."""

    optimizer: str = "momentum"
    learning_rate: float = 0.05
    width: int = 640
    batch_size: int = 64
    num_epochs: int = 160
    seed: int = 0


RUNS = {
    "sgd": Settings(optimizer="sgd"),
    "momentum": Settings(),
    "momentum-wide": Settings(width=1024, num_epochs=100),
    "adam": Settings(optimizer="adam", learning_rate=0.001),
}


class Network:
    """64 pixels, two hidden layers with ReLU, 10 digits."""

    def __init__(self, width: int, rng: np.random.Generator) -> None:
        sizes = (64, width, width, 10)
        self.parameters: dict[str, Array] = {}
        for layer, (num_in, num_out) in enumerate(pairwise(sizes), start=1):
            weight = rng.standard_normal((num_in, num_out)) * np.sqrt(2 / num_in)  # keeps the variance: He et al. 2015
            self.parameters[f"layer{layer}/weight"] = weight.astype(np.float32)
            self.parameters[f"layer{layer}/bias"] = np.zeros(num_out, np.float32)

    def forward(self, images: Array) -> list[Array]:
        """The activations of each layer: the input first, the probabilities of the ten digits last."""
        activations = [images]
        for layer in (1, 2, 3):
            z = activations[-1] @ self.parameters[f"layer{layer}/weight"] + self.parameters[f"layer{layer}/bias"]
            activations.append(np.maximum(z, 0) if layer < 3 else softmax(z))
        return activations

    def gradients(self, activations: list[Array], labels: Labels) -> dict[str, Array]:
        """The gradients of the mean cross entropy, named as the parameters are."""
        found: dict[str, Array] = {}
        delta = activations[-1].copy()
        delta[np.arange(len(labels)), labels] -= 1
        delta /= np.float32(len(labels))
        for layer in (3, 2, 1):
            found[f"layer{layer}/weight"] = activations[layer - 1].T @ delta
            found[f"layer{layer}/bias"] = delta.sum(axis=0)
            delta = (delta @ self.parameters[f"layer{layer}/weight"].T) * (activations[layer - 1] > 0)
        return found


class Optimizer:
    """Plain gradient descent, momentum, or Adam (Kingma and Ba 2015)."""

    def __init__(self, name: str, parameters: dict[str, Array]) -> None:
        self.name = name
        self.mean = {key: np.zeros_like(value) for key, value in parameters.items()}
        self.square = {key: np.zeros_like(value) for key, value in parameters.items()}
        self.num_steps = 0

    def step(self, parameters: dict[str, Array], gradients: dict[str, Array], learning_rate: float) -> None:
        """Moves the parameters in place."""
        self.num_steps += 1
        for key, gradient in gradients.items():
            if self.name == "sgd":
                move = gradient
            elif self.name == "momentum":
                self.mean[key] = move = 0.9 * self.mean[key] + gradient
            else:
                self.mean[key] = 0.9 * self.mean[key] + 0.1 * gradient
                self.square[key] = 0.999 * self.square[key] + 0.001 * gradient**2
                mean = self.mean[key] / (1 - 0.9**self.num_steps)
                move = mean / (np.sqrt(self.square[key] / (1 - 0.999**self.num_steps)) + 1e-8)
            parameters[key] -= np.float32(learning_rate) * move


def softmax(logits: Array) -> Array:
    """Probabilities, row by row."""
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: Array = exponentials / exponentials.sum(axis=1, keepdims=True)
    return probabilities


def cross_entropy(probabilities: Array, labels: Labels) -> float:
    """Mean loss in nats."""
    return float(-np.log(probabilities[np.arange(len(labels)), labels] + 1e-9).mean())


def batches(images: Array, labels: Labels, size: int, rng: np.random.Generator) -> Iterator[tuple[Array, Labels]]:
    """One epoch in a new order, each image moved by up to one pixel and made a little noisy."""
    order = rng.permutation(len(labels))
    for start in range(0, len(order) - size + 1, size):
        chosen = order[start : start + size]
        down, right = rng.integers(-1, 2, size=2)
        moved = np.roll(images[chosen].reshape(-1, 8, 8), (down, right), axis=(1, 2)).reshape(-1, 64)
        yield moved + rng.normal(0, 0.15, moved.shape).astype(np.float32), labels[chosen]


def load() -> tuple[Array, Labels, Array, Labels]:
    """Images in 0..1 and labels: 1,437 to train on, then 360 to validate on."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(labels))
    train, validation = order[:1437], order[1437:]
    return images[train], labels[train], images[validation], labels[validation]


def train(settings: Settings) -> None:
    """Trains one network and logs into the current run."""
    train_images, train_labels, val_images, val_labels = load()
    rng = np.random.default_rng(settings.seed)
    network = Network(settings.width, rng)
    optimizer = Optimizer(settings.optimizer, network.parameters)
    num_steps = settings.num_epochs * (len(train_labels) // settings.batch_size)
    step = 0
    for epoch in range(settings.num_epochs):
        for images, labels in batches(train_images, train_labels, settings.batch_size, rng):
            learning_rate = settings.learning_rate * 0.5 * (1 + float(np.cos(np.pi * step / num_steps)))
            activations = network.forward(images)
            gradients = network.gradients(activations, labels)
            optimizer.step(network.parameters, gradients, learning_rate)
            trackio.log(
                {
                    "train/loss": cross_entropy(activations[-1], labels),
                    "train/accuracy": float((activations[-1].argmax(axis=1) == labels).mean()),
                    "train/learning_rate": learning_rate,
                    **{
                        f"weights/grad_norm_layer{n}": float(np.linalg.norm(gradients[f"layer{n}/weight"]))
                        for n in (1, 2, 3)
                    },
                }
            )
            step += 1
        probabilities = network.forward(val_images)[-1]
        wrong = np.flatnonzero(probabilities.argmax(axis=1) != val_labels)
        trackio.log(
            {
                "val/epoch": epoch + 1,
                "val/loss": cross_entropy(probabilities, val_labels),
                "val/accuracy": 1 - len(wrong) / len(val_labels),
            }
        )
        if len(wrong):
            first = wrong[0]
            trackio.log({"val/mistake": f"a {val_labels[first]} was read as a {probabilities[first].argmax()}"})


def main() -> None:
    """Trains each of `RUNS`, one after another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", default="digits", help="project to log into")
    parser.add_argument("--epochs", type=int, help="epochs of each run; fewer are faster")
    arguments = parser.parse_args()
    for name, settings in RUNS.items():
        config = asdict(settings)
        if arguments.epochs is not None:
            config["num_epochs"] = arguments.epochs
        trackio.init(
            project=arguments.project, name=name, group=settings.optimizer, tags=["example", "numpy"], config=config
        )
        trackio.define_metric("val/*", step_metric="val/epoch")
        train(Settings(**config))
        trackio.finish()


if __name__ == "__main__":
    main()
