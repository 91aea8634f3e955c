"""Train a CNN of three blocks on CIFAR-100.

`--data` names the folder with the authors' archive cifar-100-python.tar.gz, or with its unpacked
files train, test and meta. `--augment` crops and flips the training images at random; what it
draws depends on the seed, the epoch and the image only.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from kit import Library, Task, classification, common_options, fail, open_device, train
from kit.progress import say
from vkml.data import (
    ArrayDataset,
    Compose,
    DataLoader,
    Normalize,
    RandomCrop,
    RandomHorizontalFlip,
    ToFloat,
    load_cifar100,
)

MEAN, STD = (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)  # of the training images
CHANNELS = (3, 32, 64, 128)


def build(lib: Library) -> Any:
    """Give three blocks of convolution, batch norm, ReLU and pooling, and a linear layer."""
    nn = lib.nn
    layers: list[Any] = []
    for inputs, outputs in pairwise(CHANNELS):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs)]
        layers += [nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(CHANNELS[-1] * 16, 100))


def loss(lib: Library, model: Any, x: Any, y: Any) -> Any:
    """Give the cross-entropy of a batch."""
    return lib.nn.functional.cross_entropy(model(x), y)


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and train."""
    parser = common_options(__doc__, epochs=10, batch=64, lr=0.05)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="the archive")
    parser.add_argument("--augment", action="store_true", help="crop and flip at random")
    args = parser.parse_args(argv)
    device, why = open_device(args.device)
    try:
        images = load_cifar100(args.data)
    except (OSError, ValueError) as error:
        fail(error)
    training = ArrayDataset(images.x_train[: args.limit], images.y_train[: args.limit])
    test = ArrayDataset(images.x_test, images.y_test)
    say("data", f"{images.name}: {len(training)} training and {len(test)} test images")
    plain = [ToFloat(), Normalize(MEAN, STD)]
    augmented = [RandomCrop(32, padding=4), RandomHorizontalFlip(), *plain]
    how: dict[str, Any] = {"device": device, "prefetch": args.prefetch}
    task = Task(
        build=build,
        optimizer=lambda lib, p: lib.optim.SGD(p, lr=args.lr, momentum=0.9, weight_decay=5e-4),
        loss=loss,
        evaluate=classification,
        batches=DataLoader(
            training,
            args.batch,
            shuffle=True,
            drop_last=len(training) % args.batch == 1,  # batch norm needs more than one image
            seed=args.seed,
            transform=Compose(augmented if args.augment else plain),
            **how,
        ),
        tests=DataLoader(test, 500, transform=Compose(plain), **how),
        facts={"dataset": images.name, "samples": len(training)}
        | {name: getattr(args, name) for name in ("augment", "batch", "lr", "seed")},
        class_names=images.classes,
    )
    train(task, args, device, why)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
