"""Philox4x32-10 against the known answers of its authors, and how elements get their words."""

from __future__ import annotations

import numpy as np
import pytest

from vkml_backend_cpu.kernels.random import philox, philox4x32_10

from . import reference_moves
from .run import attributes, run
from .values import number

# The file kat_vectors of the Random123 library: counter, key, result.
KNOWN = {
    "00000000 " * 4: ("00000000 " * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    "ffffffff " * 4: ("ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    "243f6a88 85a308d3 13198a2e 03707344": (
        "a4093822 299f31d0",
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
}


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize("counter", KNOWN)
def test_known_answers(counter: str) -> None:
    key, want = map(words, KNOWN[counter])
    got = philox4x32_10(np.array([words(counter)], np.uint32), key)
    assert got.tolist() == [want]
    assert list(reference_moves.philox(words(counter), key)) == want


def test_known_answer_by_seed_and_offset() -> None:
    assert philox(0, 0, 4).tolist() == words("6627e8d5 e169c58d bc57ac4c 9b00dbd8")
    halves = words("299f31d0 a4093822"), words("03707344 13198a2e")
    seed, offset = (high << 32 | low for high, low in halves)
    # Element i = 4 · 0x85a308d3_243f6a88 is out of reach, so the counter is (0, 0, offset).
    want = reference_moves.philox((0, 0, *words("13198a2e 03707344")), words("a4093822 299f31d0"))
    assert tuple(philox(seed, offset, 4).tolist()) == want


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 1023])
def test_words_do_not_depend_on_the_count(count: int) -> None:
    assert philox(5, 6, count).tolist() == philox(5, 6, 2000)[:count].tolist()


def test_a_random_bit_is_the_top_one() -> None:
    attrs = {n: attributes("random_bits", shape=(50,), bits=n) for n in (1, 31)}
    one, all_ = (run("random_bits", attrs[n], number(9), number(3)) for n in (1, 31))
    assert one.tolist() == (all_ >> 30).tolist()
    assert 10 < one.sum() < 40
