"""Train a small network on scikit-learn's 1,797 handwritten digits; the smallest example.

It needs `pip install scikit-learn rich`, takes seconds, and ends with the hash of the weights,
which is the same on every device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kit import Library, Task, classification, common_options, fail, open_device, train
from vkml.data import ArrayDataset, DataLoader

TEST = 360  # the last images; the others are for training


def build(lib: Library) -> Any:
    """Give a network for images of 8 × 8 pixels."""
    nn = lib.nn
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def loss(lib: Library, model: Any, x: Any, y: Any) -> Any:
    """Give the cross-entropy of a batch."""
    return lib.nn.functional.cross_entropy(model(x), y)


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and train."""
    parser = common_options(__doc__, epochs=20, batch=32, lr=0.1)
    args = parser.parse_args(argv)
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        fail("the digits come with scikit-learn: pip install scikit-learn")
    device, why = open_device(args.device)
    x, y = load_digits(return_X_y=True)
    x, y = x.astype(np.float32) / np.float32(16), y.astype(np.int64)
    training = ArrayDataset(x[:-TEST][: args.limit], y[:-TEST][: args.limit])
    test = ArrayDataset(x[-TEST:], y[-TEST:])
    task = Task(
        build=build,
        optimizer=lambda lib, parameters: lib.optim.SGD(parameters, lr=args.lr, momentum=0.9),
        loss=loss,
        evaluate=classification,
        batches=DataLoader(
            training,
            args.batch,
            shuffle=True,
            seed=args.seed,
            device=device,
            prefetch=args.prefetch,
        ),
        tests=DataLoader(test, 120, device=device),
        facts={"dataset": "digits", "samples": len(training), "batch": args.batch}
        | {"lr": args.lr, "seed": args.seed},
    )
    train(task, args, device, why)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
