"""Files of PyTorch load directly, and ours load there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import vkml
from vkml import nn

EXACT = {
    torch.float32: "float32",
    torch.float16: "float16",
    torch.bfloat16: "float32",
    torch.int64: "int64",
    torch.int32: "int32",
    torch.int16: "int32",
    torch.int8: "int32",
    torch.uint8: "int32",
    torch.uint16: "int32",
    torch.uint32: "int64",
    torch.bool: "bool_",
}


@pytest.mark.parametrize("dtype", EXACT, ids=str)
def test_every_bit_pattern_of_16_bits_converts_exactly(dtype: torch.dtype, path: Path) -> None:
    bits = torch.arange(2**16, dtype=torch.int32).to(torch.int16)
    wide = torch.stack([bits, bits.flip(0)], 1).reshape(-1)
    x = (wide % 2 == 0) if dtype == torch.bool else wide.view(dtype)
    save_file({"x": x.contiguous()}, path)
    found = vkml.load(path)["x"]
    assert found.dtype.name == EXACT[dtype]
    want = (x.float() if dtype == torch.bfloat16 else x).numpy()
    np.testing.assert_array_equal(found.numpy(), want)
    numbers = ~np.isnan(want)
    assert (np.signbit(found.numpy()) == np.signbit(want))[numbers].all()


def test_float64_is_narrowed_as_by_tensor(path: Path) -> None:
    x = np.array([0.1, -0.0, 1e300, -1e300, 1e-46, np.nan, np.inf, 1 + 2**-24])
    save_file({"x": torch.from_numpy(x)}, path)
    assert vkml.load(path)["x"].numpy().tobytes() == vkml.tensor(x).numpy().tobytes()


@pytest.mark.parametrize(
    ("dtype", "code"),
    [(torch.uint64, "U64"), (torch.float8_e4m3fn, "F8_E4M3"), (torch.complex64, "C64")],
    ids=str,
)
def test_other_types_are_refused_by_name(dtype: torch.dtype, code: str, path: Path) -> None:
    save_file({"fine": torch.ones(1), "odd.one": torch.zeros(2, dtype=dtype)}, path)
    with pytest.raises(vkml.CheckpointError) as caught:
        vkml.load(path)
    for part in (str(path), "'odd.one'", code, "bool_, int32, int64, float16, float32"):
        assert part in str(caught.value)
    assert vkml.Checkpoint.read_metadata(path) == {}


def test_rank_5_is_refused_by_name(path: Path) -> None:
    save_file({"deep": torch.zeros(1, 1, 1, 1, 1)}, path)
    with pytest.raises(
        vkml.CheckpointError, match=r"'deep' has shape \(1, 1, 1, 1, 1\).*at most 4"
    ):
        vkml.load(path)


def test_order_metadata_and_version_of_a_file_from_elsewhere(path: Path) -> None:
    state = {k: torch.ones(1) for k in ("b", "a.c", "a", "Z")} | {"h": torch.ones(1).half()}
    save_file(state, path, metadata={"format": "pt"})
    found = vkml.Checkpoint.load(path)
    assert list(found.tensors) == list(load_file(path)) == ["Z", "a", "a.c", "b", "h"]
    assert (found.metadata, found.version) == ({"format": "pt"}, 0)


def test_a_model_goes_there_and_back(path: Path) -> None:
    theirs = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Linear(4, 3))
    save_file(theirs.state_dict(), path)
    ours = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Linear(4, 3))
    vkml.load_module(ours, path)
    x = np.random.default_rng(0).standard_normal((2, 1, 6, 6), np.float32)
    np.testing.assert_allclose(
        ours(vkml.tensor(x)).numpy(),
        theirs(torch.from_numpy(x)).detach().numpy(),
        rtol=1e-5,
        atol=1e-6,
    )
    vkml.save_module(ours, path, metadata={"format": "pt"})
    back = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Linear(4, 3))
    back.load_state_dict(load_file(path))
    for name, value in theirs.state_dict().items():
        assert torch.equal(back.state_dict()[name], value)
