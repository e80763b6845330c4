"""Several runs at once in one process: each thread logs into its own."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import trackio_like as trackio


def search(learning_rate: float, *, num_steps: int = 500) -> float:
    """Minimises a noisy parabola; returns the last loss."""
    rng = random.Random(0)
    with trackio.Run(project="several-runs", group="search", config={"learning_rate": learning_rate}) as run:
        x = 5.0
        for _ in range(num_steps):
            gradient = 2 * x + rng.gauss(0, 0.5)
            x -= learning_rate * gradient
            run.log({"loss": x * x, "x": x})
    return x * x


def main() -> None:
    """Tries four learning rates side by side."""
    learning_rates = (0.001, 0.01, 0.1, 0.9)
    with ThreadPoolExecutor(max_workers=4) as pool:
        for learning_rate, loss in zip(learning_rates, pool.map(search, learning_rates), strict=True):
            print(f"learning rate {learning_rate}: loss {loss:.4f}")


if __name__ == "__main__":
    main()
