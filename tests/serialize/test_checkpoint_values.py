"""Values keep their bits: every dtype, odd numbers, empty and rank 0, lazy, strided, any device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import vkml
from tests.everywhere import devices, same_everywhere
from vkml import nn

BITS32 = [0, 1 << 31, 1, 0x807FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x3F800001]
BITS16 = [0, 1 << 15, 1, 0x83FF, 0x7C00, 0xFC00, 0x7E00, 0x7BFF, 0x3C01]
ARRAYS = {
    "float32": np.array(BITS32, np.uint32).view(np.float32),
    "float16": np.array(BITS16, np.uint16).view(np.float16),
    "int64": np.array([-(2**63), 2**63 - 1, -1, 0]),
    "int32": np.array([-(2**31), 2**31 - 1, -1, 0], np.int32),
    "bool_": np.array([True, False, True]),
    "empty": np.zeros((0, 3), np.float32),
    "empty too": np.zeros((2, 0, 0, 5), bool),
    "scalar": np.array(-0.0, np.float32),
    "rank 4": np.arange(16, dtype=np.int32).reshape(2, 2, 2, 2),
}


def test_bits_between_devices(path: Path) -> None:
    for source in devices():
        vkml.save({k: vkml.tensor(a, device=source) for k, a in ARRAYS.items()}, path)
        for target in devices():
            loaded = vkml.load(path, device=target)
            for name, a in ARRAYS.items():
                t = loaded[name]
                assert t.device == vkml.device(target) and not t.requires_grad
                found = t.numpy()
                assert (found.dtype, found.shape, found.tobytes()) == (
                    a.dtype,
                    a.shape,
                    a.tobytes(),
                ), f"{name}: {source} to {target}"


def test_lazy_and_strided_tensors(tmp_path: Path) -> None:
    def program(device: str) -> dict[str, object]:
        x = vkml.arange(0, 24, device=device).to(vkml.float32).reshape(2, 3, 4)
        w = nn.Parameter(vkml.ones((3,), device=device))
        made = {
            "lazy": x.exp() / 3.0,
            "transposed": x.permute((2, 0, 1)),
            "reversed": x[:, ::-1, ::2],
            "expanded": vkml.full((1, 3), 0.1, device=device).expand((5, 3)),
            "parameter": w,
            "with history": (x.sum((0, 2)) * w).sum(),
        }
        vkml.save(made, tmp_path / "x")
        again = vkml.load(tmp_path / "x", device=device)
        for name, t in made.items():
            np.testing.assert_array_equal(again[name].numpy(), t.numpy())
            assert type(again[name]) is vkml.Tensor and not again[name].requires_grad
        assert made["with history"].requires_grad
        return again

    same_everywhere(program)


def test_saving_is_one_submission_a_device(path: Path) -> None:
    def submissions() -> list[float]:
        return [vkml.device(d).stats()["submissions"] for d in devices()]

    def lazy() -> dict[str, vkml.Tensor]:
        return {
            f"{d} {i}": (vkml.full((8,), float(i), device=d) * 3.0).exp()
            for d in devices()
            for i in range(5)
        }

    vkml.save(lazy(), path)
    made, before = lazy(), submissions()
    vkml.save(made, path)
    assert [b - a for a, b in zip(before, submissions(), strict=True)] == [1, 1]
    vkml.save(made, path)
    assert [b - a for a, b in zip(before, submissions(), strict=True)] == [1, 1]


def test_a_pending_assignment_is_saved(path: Path) -> None:
    x = vkml.ones(3)
    x.assign_(x * 5.0)
    vkml.save([x], path)
    assert vkml.load(path)[0].tolist() == [5, 5, 5]


def test_a_value_that_fails_leaves_the_old_file(path: Path) -> None:
    vkml.save({"x": vkml.ones(1)}, path)
    before = path.read_bytes()
    wrong = vkml.ones((3,)).index_select(0, vkml.tensor([7]))
    with pytest.raises(vkml.IndexError_):
        vkml.save({"x": wrong}, path)
    assert path.read_bytes() == before and len([*path.parent.iterdir()]) == 1


def test_arrays_keep_every_bit_and_tensors_the_contracts_nan(path: Path) -> None:
    odd = np.array([0x7F800001, 0xFFC12345, 0x7FC00000], np.uint32).view(np.float32)
    strided = np.arange(12, dtype=">i4").reshape(3, 4).T
    scalar = np.array(7, np.uint64)
    many = np.zeros((1,) * 9, np.int8)
    vkml.save({"a": odd, "t": vkml.tensor(odd), "s": strided, "0": scalar, "9": many}, path)
    loaded = vkml.load(path)
    assert loaded["a"].tobytes() == odd.tobytes()
    assert set(loaded["t"].numpy().view(np.uint32).tolist()) == {0x7FC00000}
    np.testing.assert_array_equal(loaded["s"], strided)
    assert (loaded["0"].shape, loaded["0"].dtype, int(loaded["0"])) == ((), np.uint64, 7)
    assert loaded["9"].shape == many.shape
    loaded["a"][0] = 1  # it belongs to the caller


def small(bias: bool = True) -> nn.Module:
    return nn.Sequential(nn.Linear(3, 2, bias=bias), nn.ReLU(), nn.Linear(2, 1))


def values(module: nn.Module) -> dict[str, bytes]:
    return {k: v.numpy().tobytes() for k, v in module.state_dict().items()}


def test_modules(path: Path) -> None:
    vkml.manual_seed(1)
    a, b = small(), small()
    vkml.save_module(a, path, metadata={"epoch": 1})
    assert vkml.Checkpoint.read_metadata(path) == {"epoch": 1}
    assert values(a) != values(b)
    assert vkml.load_module(b, path) == ([], [])
    assert values(a) == values(b) and all(p.requires_grad for p in b.parameters())
    for device in devices():
        moved = small().to(device)
        vkml.load_module(moved, path)
        assert values(moved) == values(a)
        assert {str(p.device) for p in moved.parameters()} == {str(vkml.device(device))}


def changes_nothing(module: nn.Module, load: Callable[[], object], wanted: str) -> None:
    before = values(module)
    with pytest.raises(ValueError, match=wanted) as caught:
        load()
    assert isinstance(caught.value, vkml.Error)
    assert values(module) == before


def test_modules_that_do_not_fit(path: Path) -> None:
    other = small(bias=False)
    vkml.save_module(small(), path)
    changes_nothing(other, lambda: vkml.load_module(other, path), "unexpected keys: 0.bias")
    assert vkml.load_module(other, path, strict=False) == ([], ["0.bias"])
    wide = nn.Sequential(nn.Linear(4, 2))
    changes_nothing(wide, lambda: vkml.load_module(wide, path, strict=False), "wrong shapes")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    changes_nothing(other, lambda: vkml.load_module(other, path, strict=False), "is damaged")
    vkml.save({"model": small().state_dict(), "epoch": 1}, path)
    changes_nothing(other, lambda: vkml.load_module(other, path), "tensors by name alone")
    for call in (vkml.save_module, vkml.load_module):
        with pytest.raises(vkml.ArgumentTypeError, match="expected a Module, got dict"):
            call({}, path)  # type: ignore[arg-type]
