"""Train a small transformer to write text, one character after another.

The text is the GNU General Public License where Debian keeps it, Python's own help elsewhere, or
what `--text` names. At the end the model's loss is compared with that of a bigram table of the
same text, and it writes some text itself; both are the same on every device.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import vkml
from kit import Evaluation, Library, Task, common_options, fail, open_device, train
from kit.options import natural, positive
from kit.progress import say
from vkml.data import ArrayDataset, DataLoader

LICENCE = Path("/usr/share/common-licenses/GPL-3")
WIDTH, HEADS, LAYERS = 64, 4, 2
HELD_OUT = 0.1  # the share of the text, at its end, that is not trained on
Codes = npt.NDArray[np.int64]


def build(lib: Library, characters: int, context: int) -> Any:
    """Give a transformer that says which character follows each of (N, context)."""
    nn = lib.nn

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.characters = nn.Embedding(characters, WIDTH)
            self.places = nn.Embedding(context, WIDTH)
            self.layers = nn.ModuleList(
                nn.TransformerEncoderLayer(
                    WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
                )
                for _ in range(LAYERS)
            )
            self.norm = nn.LayerNorm(WIDTH)
            self.head = nn.Linear(WIDTH, characters)
            later = np.triu(np.ones((context, context), bool), 1)
            self.register_buffer("later", lib.tensor(later), persistent=False)

        def forward(self, codes: Any) -> Any:
            x = self.characters(codes) + self.places.weight
            for layer in self.layers:
                x = layer(x, src_mask=self.later)
            return self.head(self.norm(x))

    return Model()


def loss(lib: Library, model: Any, x: Any, y: Any, reduction: str = "mean") -> Any:
    """Give the cross-entropy, in nats a character."""
    logits = model(x).flatten(0, 1)
    return lib.nn.functional.cross_entropy(logits, y.flatten(), reduction=reduction)


def evaluate(lib: Library, model: Any, batches: Any) -> Evaluation:
    """Give the mean loss on text that was not trained on."""
    total, count = 0.0, 0
    for x, y in batches:
        total += loss(lib, model, x, y, "sum").item()
        count += y.shape[0] * y.shape[1]
    return Evaluation({"held_out_loss": total / count})


@dataclass(frozen=True)
class Text:
    """A text as numbers of its characters: what is trained on, and the rest."""

    name: str
    sha256: str
    alphabet: list[str]
    head: Codes
    tail: Codes

    def words(self, codes: Iterable[int]) -> str:
        """Turn numbers into characters."""
        return "".join(self.alphabet[code] for code in codes)


def read(path: Path | None) -> Text:
    """Read a text, by default one that is there."""
    if path is None and not LICENCE.is_file():
        from pydoc_data.topics import topics

        return coded("Python's help", "\n".join(topics[name] for name in sorted(topics))[:60_000])
    path = path or LICENCE
    try:
        return coded(path.name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        fail(f"{path}: {error}")


def coded(name: str, text: str) -> Text:
    """Number the characters of a text, and keep a part of it for the end."""
    alphabet = sorted(set(text))
    number = {c: i for i, c in enumerate(alphabet)}
    codes = np.array([number[c] for c in text], np.int64)
    head, tail = np.split(codes, [len(codes) - round(HELD_OUT * len(codes))])
    return Text(name, hashlib.sha256(text.encode()).hexdigest(), alphabet, head, tail)


def windows(codes: Codes, context: int, stride: int) -> ArrayDataset:
    """Give pieces of `context` characters, and what follows each character of them."""
    pieces = np.lib.stride_tricks.sliding_window_view(codes, context + 1)[::stride]
    return ArrayDataset(pieces[:, :-1].copy(), pieces[:, 1:].copy())


def bigram_loss(table_from: Codes, codes: Codes, characters: int) -> float:
    """Give the loss on `codes` of predicting each character from the one before, in nats.

    The probabilities are counts in `table_from`, each one more than counted.
    """
    counts = np.ones((characters, characters))
    np.add.at(counts, (table_from[:-1], table_from[1:]), 1)
    shares = counts / counts.sum(1, keepdims=True)
    return float(-np.log(shares[codes[:-1], codes[1:]]).mean())


def write(model: Any, prompt: Codes, length: int, temperature: float, device: str) -> list[int]:
    """Let the model go on from `prompt`; the random numbers are those of manual_seed."""
    text: list[int] = prompt.tolist()
    with vkml.no_grad():
        for _ in range(length):
            logits = model(vkml.tensor([text[-len(prompt) :]], device=device))[0, -1]
            shares = (logits / temperature).softmax().cumsum(0)
            draw = vkml.rand(device=device) * shares[-1]
            text.append(int((shares <= draw).sum().item()))
    return text[len(prompt) :]


def options() -> argparse.ArgumentParser:
    """Name the options."""
    parser = common_options(__doc__, epochs=4, batch=16, lr=3e-3)
    add = parser.add_argument
    add("--text", type=Path, metavar="FILE", help="UTF-8 text to learn from")
    add("--context", type=positive, default=32, help="characters seen (default: 32)")
    add("--write", type=natural, default=300, help="characters to write (default: 300)")
    add("--temperature", type=float, default=0.7, help="(default: 0.7)")
    return parser


def show(model: Any, text: Text, args: argparse.Namespace, device: str) -> dict[str, Any]:
    """Print what the model writes."""
    prompt = text.head[len(text.head) // 2 :][: args.context]
    written = write(model.eval(), prompt, args.write, args.temperature, device)
    found = {"prompt": text.words(prompt), "wrote": text.words(written)}
    for name, words in found.items():
        say(name, repr(words))
    return found


def task_of(args: argparse.Namespace, text: Text, device: str) -> Task:
    """Say what is trained, on what, and how it is judged."""
    training = windows(text.head, args.context, args.context // 4)
    training = ArrayDataset(*(array[: args.limit] for array in training.arrays))
    tests = windows(text.tail, args.context, args.context)
    sizes = len(text.alphabet), args.context
    baseline, held_out = (bigram_loss(text.head, c, sizes[0]) for c in (text.head, text.tail))
    say("bigrams", f"loss {baseline:.4f}  held_out_loss {held_out:.4f}")
    order: dict[str, Any] = {"shuffle": True, "seed": args.seed, "prefetch": args.prefetch}
    return Task(
        build=lambda lib: build(lib, *sizes),
        optimizer=lambda lib, parameters: lib.optim.AdamW(parameters, lr=args.lr),
        loss=loss,
        evaluate=evaluate,
        batches=DataLoader(training, args.batch, device=device, **order),
        tests=DataLoader(tests, 64, device=device),
        facts={"dataset": text.name, "text_sha256": text.sha256, "samples": len(training)}
        | {"baseline": baseline, "held_out_baseline": held_out}
        | {name: getattr(args, name) for name in ("context", "batch", "lr", "seed")},
        show=lambda model: show(model, text, args, device),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line, train, and write."""
    args = options().parse_args(argv)
    device, why = open_device(args.device)
    text = read(args.text)
    if min(len(text.head), len(text.tail)) <= args.context:
        fail(f"{text.name}: is too short for --context {args.context}")
    characters = len(text.head) + len(text.tail)
    say("data", f"{text.name}: {characters} characters, {len(text.alphabet)} different")
    train(task_of(args, text, device), args, device, why)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
