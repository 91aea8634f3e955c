"""MultiheadAttention beside PyTorch's: masks, layouts, gradients, dropout, bits, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import vkml
from tests.everywhere import same_everywhere
from tests.nn.twins import compare, host, submissions, twin
from vkml import nn, optim

N, L, S, E, H = 3, 4, 5, 8, 2
RNG = np.random.default_rng(5)


def bools(*shape: int) -> np.ndarray:
    """Random bools in which every row leaves the first key."""
    mask = RNG.random(shape) < 0.5
    mask[..., 0] = False
    return mask


BOOL = bools(L, S)
PER_BATCH, PER_HEAD = bools(N, L, S), bools(N * H, L, S)
PADDING = bools(N, S)
FLOAT = host(3, L, S)
FLOAT_PADDING = np.where(PADDING, -np.inf, host(4, N, S)).astype(np.float32)
CAUSAL = np.triu(np.ones((L, S), bool), 1)


def added(mask: np.ndarray) -> np.ndarray:
    return mask if mask.dtype != bool else np.where(mask, -np.inf, 0.0).astype(np.float32)


def for_heads(mask: np.ndarray) -> np.ndarray:
    return np.broadcast_to(mask, (N, H, L, S)).reshape(N * H, L, S)


# What ours is given, and the same for PyTorch.
MASKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "none": ({}, {}),
    "bool": ({"attn_mask": BOOL}, {"attn_mask": BOOL}),
    "float": ({"attn_mask": FLOAT}, {"attn_mask": FLOAT}),
    "heads": ({"attn_mask": PER_HEAD}, {"attn_mask": PER_HEAD}),
    "float heads": ({"attn_mask": host(8, N * H, L, S)}, {"attn_mask": host(8, N * H, L, S)}),
    "batch": ({"attn_mask": PER_BATCH}, {"attn_mask": for_heads(PER_BATCH[:, None])}),
    "rank 4": (
        {"attn_mask": PER_HEAD.reshape(N, H, L, S)},
        {"attn_mask": PER_HEAD},
    ),
    "heads alone": (
        {"attn_mask": PER_HEAD[None, :H]},
        {"attn_mask": for_heads(PER_HEAD[None, :H])},
    ),
    "padding": ({"key_padding_mask": PADDING}, {"key_padding_mask": PADDING}),
    "float padding": ({"key_padding_mask": FLOAT_PADDING}, {"key_padding_mask": FLOAT_PADDING}),
    "bool, padding": (
        {"attn_mask": BOOL, "key_padding_mask": PADDING},
        {"attn_mask": BOOL, "key_padding_mask": PADDING},
    ),
    "float, bool padding": (
        {"attn_mask": FLOAT, "key_padding_mask": PADDING},
        {"attn_mask": FLOAT, "key_padding_mask": added(PADDING)},
    ),
    "causal": ({"is_causal": True}, {"attn_mask": CAUSAL}),
    "causal twice": ({"is_causal": True, "attn_mask": CAUSAL}, {"attn_mask": CAUSAL}),
    "causal, padding": (
        {"is_causal": True, "key_padding_mask": PADDING},
        {"attn_mask": CAUSAL, "key_padding_mask": PADDING},
    ),
}


def given(options: dict[str, Any], make: Any) -> dict[str, Any]:
    return {k: make(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}


def check(
    ours: Any, theirs: Any, inputs: list[np.ndarray], mine: dict[str, Any], its: dict[str, Any]
) -> np.ndarray:
    twin(ours, theirs)
    return compare(
        ours,
        theirs,
        inputs,
        lambda m, x: m(*x, **given(mine, vkml.tensor)),
        lambda m, x: m(*x, **given(its, torch.from_numpy), need_weights=False)[0],
    )


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("name", MASKS)
def test_masks_and_layouts_agree_with_pytorch(name: str, batch_first: bool) -> None:
    ours = nn.MultiheadAttention(E, H, batch_first=batch_first)
    theirs = torch.nn.MultiheadAttention(E, H, batch_first=batch_first)
    inputs = [host(1, N, L, E), host(2, N, S, E), host(3, N, S, E)]
    if not batch_first:
        inputs = [np.ascontiguousarray(x.swapaxes(0, 1)) for x in inputs]
    y = check(ours, theirs, inputs, *MASKS[name])
    assert y.shape == inputs[0].shape


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("heads", [1, 4, 8])
def test_self_attention_agrees_with_pytorch(heads: int, bias: bool) -> None:
    ours = nn.MultiheadAttention(E, heads, bias=bias)
    theirs = torch.nn.MultiheadAttention(E, heads, bias=bias, batch_first=True)
    twin(ours, theirs)
    compare(
        ours,
        theirs,
        [host(1, N, L, E)],
        lambda m, x: m(x[0], x[0], x[0]),
        lambda m, x: m(x[0], x[0], x[0], need_weights=False)[0],
    )


@pytest.mark.parametrize(
    ("mine", "its"),
    [
        ({}, {}),
        ({"attn_mask": PER_HEAD[:H]}, {"attn_mask": PER_HEAD[:H]}),
        ({"key_padding_mask": PADDING[0]}, {"key_padding_mask": PADDING[0]}),
        ({"is_causal": True}, {"attn_mask": CAUSAL}),
    ],
)
@pytest.mark.parametrize("batch_first", [True, False])
def test_without_a_batch(batch_first: bool, mine: dict[str, Any], its: dict[str, Any]) -> None:
    ours = nn.MultiheadAttention(E, H, batch_first=batch_first)
    theirs = torch.nn.MultiheadAttention(E, H, batch_first=batch_first)
    inputs = [host(1, L, E), host(2, S, E), host(3, S, E)]
    assert check(ours, theirs, inputs, mine, its).shape == (L, E)


def test_queries_that_see_nothing_get_zeros_and_harm_no_gradient() -> None:
    padding, mask = np.zeros((N, S), bool), added(BOOL)
    padding[1] = True
    mask[2] = -np.inf
    inputs = [host(1, N, L, E), host(2, N, S, E), host(3, N, S, E)]
    its = {"attn_mask": mask, "key_padding_mask": added(padding)}
    for hidden in (padding, added(padding)):
        ours = nn.MultiheadAttention(E, H)
        theirs = torch.nn.MultiheadAttention(E, H, batch_first=True)
        mine = {"attn_mask": mask, "key_padding_mask": hidden}
        y = check(ours, theirs, inputs, mine, its)
        assert not y[1].any() and not y[:, 2].any() and np.all(y[0, 0] != 0)


def test_no_key_at_all_gives_the_bias() -> None:
    layer = nn.MultiheadAttention(E, H)
    nn.init.constant_(layer.out_proj.bias, 0.5)
    none = vkml.zeros(N, 0, E)
    for masks in ({}, {"key_padding_mask": vkml.zeros(N, 0, dtype=vkml.bool_)}):
        assert np.all(layer(vkml.ones(N, L, E), none, none, **masks).numpy() == 0.5)


def test_the_packed_product_gives_the_bits_of_three() -> None:
    layer, x = nn.MultiheadAttention(E, H), vkml.tensor(host(1, N, L, E))
    twice = x * 1.0
    np.testing.assert_array_equal(layer(x, x, x).numpy(), layer(x, twice, x).numpy())


def test_start_is_pytorchs() -> None:
    vkml.manual_seed(1)
    layer, theirs = nn.MultiheadAttention(96, 4), torch.nn.MultiheadAttention(96, 4)
    assert {k: v.shape for k, v in layer.state_dict().items()} == {
        k: tuple(v.shape) for k, v in theirs.state_dict().items()
    }
    bounds = {"in_proj_weight": (6 / 384) ** 0.5, "out_proj.weight": 96**-0.5}
    for name, value in layer.state_dict().items():
        largest, theirs_largest = (
            float(np.abs(t.numpy()).max()) for t in (value, theirs.state_dict()[name])
        )
        bound = bounds.get(name, 0.0)
        assert bound * 0.99 <= largest <= bound and bound * 0.99 <= theirs_largest <= bound, name
    kept = layer.state_dict()
    layer.reset_parameters()
    assert np.any(kept["in_proj_weight"].numpy() != layer.in_proj_weight.numpy())
    shown = repr(theirs).replace("NonDynamicallyQuantizableLinear", "Linear")
    assert repr(layer) == shown
    bare = nn.MultiheadAttention(8, 2, bias=False)
    assert list(bare.state_dict()) == ["in_proj_weight", "out_proj.weight"]


def test_dropout_is_of_weights_and_in_training_only() -> None:
    vkml.manual_seed(0)
    layer, x = nn.MultiheadAttention(E, H, dropout=0.5), vkml.tensor(host(1, N, L, E))
    first, second = layer(x, x, x).numpy(), layer(x, x, x).numpy()
    assert np.any(first != second)
    vkml.manual_seed(0)
    nn.MultiheadAttention(E, H)
    np.testing.assert_array_equal(layer(x, x, x).numpy(), first)
    plain = nn.MultiheadAttention(E, H)
    plain.load_state_dict(layer.state_dict())
    np.testing.assert_array_equal(layer.eval()(x, x, x).numpy(), plain(x, x, x).numpy())
    all_gone = nn.MultiheadAttention(E, H, dropout=1.0)
    assert not all_gone(x, x, x).numpy().any()
    # The mean over many masks is what attention without dropout gives.
    layer.train()
    many = np.mean([layer(x, x, x).numpy() for _ in range(2000)], axis=0)
    assert np.abs(many - plain(x, x, x).numpy()).max() < 0.05


@pytest.mark.parametrize("training", [True, False])
def test_bits_are_the_same_everywhere(training: bool) -> None:
    def program(device: str) -> dict[str, Any]:
        layer = nn.MultiheadAttention(E, H, dropout=0.3, device=device).train(training)
        x = vkml.randn(N, L, E, device=device, requires_grad=True)
        z = vkml.randn(N, S, E, device=device, requires_grad=True)
        padding = np.zeros((N, S), bool)
        padding[1], padding[2, 1:] = True, True
        options = {
            "attn_mask": vkml.tensor(FLOAT, device=device),
            "key_padding_mask": vkml.tensor(padding, device=device),
        }
        y = layer(x, z, z, **options) + layer(x, x, x, is_causal=True)
        (y * y).sum().backward()
        grads = {k: p.grad for k, p in layer.named_parameters()}
        return {"y": y, "x": x.grad, "z": z.grad, **grads}

    same_everywhere(program)


def test_a_step_is_one_submission_and_one_plan() -> None:
    layer = nn.MultiheadAttention(E, H, dropout=0.1)
    optimizer = optim.SGD(layer.parameters(), lr=0.01)
    x, mask = vkml.tensor(host(1, N, L, E)), vkml.tensor(PADDING[:, :L])
    before = submissions()
    for _ in range(4):
        optimizer.zero_grad()
        loss = (layer(x, x, x, is_causal=True, key_padding_mask=mask) ** 2.0).mean()
        loss.backward()
        optimizer.step()
        loss.item()
    assert submissions() - before == 4


def test_float16_stays_float16() -> None:
    layer = nn.MultiheadAttention(E, H, dtype=vkml.float16)
    x = vkml.ones(N, L, E, dtype=vkml.float16)
    y = layer(x, x, x, attn_mask=vkml.zeros(L, L), is_causal=True)
    assert y.dtype is vkml.float16 and np.isfinite(y.numpy()).all()


def test_bad_arguments() -> None:
    layer, x, z = nn.MultiheadAttention(E, H), vkml.ones(N, L, E), vkml.ones(N, S, E)
    for error, message, make in (
        (ValueError, "embed_dim: expected at least 1", lambda: nn.MultiheadAttention(0, 1)),
        (ValueError, "num_heads: expected at least 1", lambda: nn.MultiheadAttention(4, 0)),
        (ValueError, "num_heads 3 must divide embed_dim 8", lambda: nn.MultiheadAttention(8, 3)),
        (ValueError, "probability", lambda: nn.MultiheadAttention(8, 2, dropout=2.0)),
        (TypeError, "batch_first", lambda: nn.MultiheadAttention(8, 2, batch_first="yes")),
        (ValueError, r"E = 8.*got \(3, 4, 7\)", lambda: layer(vkml.ones(N, L, 7), z, z)),
        (ValueError, "key and value alike", lambda: layer(x, z, x)),
        (ValueError, "key and value alike", lambda: layer(x, vkml.ones(2, S, E), z)),
        (ValueError, "key and value", lambda: layer(x[0], z, z)),
        (ValueError, "key and value", lambda: layer(x[0, 0], z[0, 0], z[0, 0])),
        (TypeError, "query: expected a Tensor", lambda: layer(1.0, z, z)),
        (TypeError, "value: expected a floating", lambda: layer(x, z, z.to(vkml.int64))),
        (TypeError, "is_causal: expected True", lambda: layer(x, z, z, is_causal=1)),
        (
            ValueError,
            r"attn_mask: got shape \(5, 4\), expected \(4, 5\) or",
            lambda: layer(x, z, z, attn_mask=vkml.zeros(S, L)),
        ),
        (
            TypeError,
            "attn_mask: expected bool_ or floating point, got int64",
            lambda: layer(x, z, z, attn_mask=vkml.zeros(L, S, dtype=vkml.int64)),
        ),
        (
            ValueError,
            r"key_padding_mask: got shape \(3, 4\), expected \(3, 5\)",
            lambda: layer(x, z, z, key_padding_mask=vkml.zeros(N, L)),
        ),
        (
            ValueError,
            r"key_padding_mask: got shape \(1, 5\), expected \(5,\)",
            lambda: layer(x[0], z[0], z[0], key_padding_mask=vkml.zeros(1, S)),
        ),
    ):
        with pytest.raises(error, match=message):
            make()
