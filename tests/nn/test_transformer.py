"""Encoder layers, encoders and positional encodings beside PyTorch's and beside exact sinusoids."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
import torch

import vkml
from tests.everywhere import same_everywhere
from tests.nn.twins import compare, host, submissions, twin
from vkml import nn, optim
from vkml_nn.positional import sinusoids

N, L, E, H, F = 3, 5, 8, 2, 16
PADDING = np.array([[0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 0, 1]], bool)
CAUSAL = np.triu(np.ones((L, L), bool), 1)
FLOAT = host(7, L, L)
HEX = [
    "-0x1.53f1320000000p-1",
    "-0x1.7edcae0000000p-1",
    "0x1.50f0a00000000p-10",
    "0x1.eb756e0000000p-7",
    "0x1.fb375c0000000p-2",
    "0x1.bcc7020000000p-1",
]
XOR = 0x8F232EAF
MASKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "none": ({}, {}),
    "causal": ({"is_causal": True}, {"src_mask": CAUSAL, "is_causal": True}),
    "bool": ({"src_mask": CAUSAL.T}, {"src_mask": CAUSAL.T}),
    "float": ({"src_mask": FLOAT}, {"src_mask": FLOAT}),
    "padding": ({"src_key_padding_mask": PADDING}, {"src_key_padding_mask": PADDING}),
    "both": (
        {"is_causal": True, "src_key_padding_mask": PADDING},
        {"src_mask": CAUSAL, "src_key_padding_mask": PADDING},
    ),
}


def given(options: dict[str, Any], make: Any) -> dict[str, Any]:
    arrays = {k: np.ascontiguousarray(v) for k, v in options.items() if not isinstance(v, bool)}
    return {**options, **{k: make(v) for k, v in arrays.items()}}


def pair(dropout: float = 0.0, **options: Any) -> tuple[Any, Any]:
    """Make a layer of each library, with weights that no symmetry hides."""
    ours = nn.TransformerEncoderLayer(E, H, F, dropout, **options)
    theirs = torch.nn.TransformerEncoderLayer(E, H, F, dropout, **{"batch_first": True, **options})
    for i, p in enumerate(ours.parameters()):
        with vkml.no_grad():
            p += 0.1 * vkml.randn(p.shape, seed=i)
    twin(ours, theirs)
    return ours, theirs


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_masks_agree_with_pytorch(name: str, norm_first: bool) -> None:
    mine, its = MASKS[name]
    compare(
        *pair(norm_first=norm_first),
        [host(1, N, L, E)],
        lambda m, x: m(*x, **given(mine, vkml.tensor)),
        lambda m, x: m(*x, **given(its, torch.from_numpy)),
    )


@pytest.mark.parametrize(
    "options",
    [
        {"activation": "gelu"},
        {"activation": "gelu", "norm_first": True, "bias": False},
        {"bias": False},
        {"batch_first": False},
        {"layer_norm_eps": 0.1},
    ],
    ids=str,
)
def test_options_agree_with_pytorch(options: dict[str, Any]) -> None:
    compare(*pair(**options), [host(1, N, L, E)])
    compare(*pair(**options), [host(2, L, E)])


def test_other_activations() -> None:
    ours, theirs = pair(activation="relu"), pair(activation="relu")
    for layer in (ours[0], theirs[1]):
        layer.activation = lambda x: x * x
    twin(ours[0], theirs[1])
    compare(ours[0], theirs[1], [host(1, N, L, E)])
    module = nn.TransformerEncoderLayer(E, H, F, activation=nn.Tanh())
    assert "activation" in dict(module.named_children())


def test_evaluation_ignores_dropout_and_agrees_with_pytorchs_fast_path() -> None:
    ours, theirs = pair(dropout=0.5)
    x = host(1, N, L, E)
    with torch.no_grad():
        u = theirs.eval()(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(ours.eval()(vkml.tensor(x)).numpy(), u, 1e-5, 2e-6)


def test_names_start_and_repr_are_pytorchs() -> None:
    vkml.manual_seed(3)
    ours = nn.TransformerEncoderLayer(E, H)
    theirs = torch.nn.TransformerEncoderLayer(E, H, batch_first=True)
    assert repr(ours) == repr(theirs).replace("NonDynamicallyQuantizable", "")
    assert [(k, v.shape) for k, v in ours.state_dict().items()] == [
        (k, tuple(v.shape)) for k, v in theirs.state_dict().items()
    ]
    bounds = {
        "self_attn.in_proj_weight": (6 / (4 * E)) ** 0.5,
        "self_attn.in_proj_bias": 0.0,
        "self_attn.out_proj.weight": E**-0.5,
        "self_attn.out_proj.bias": 0.0,
        "linear1.weight": E**-0.5,
        "linear1.bias": E**-0.5,
        "linear2.weight": 2048**-0.5,
        "linear2.bias": 2048**-0.5,
        "norm1.weight": 1.0,
        "norm1.bias": 0.0,
        "norm2.weight": 1.0,
        "norm2.bias": 0.0,
    }
    for name, bound in bounds.items():
        for state in (ours.state_dict(), theirs.state_dict()):
            largest = float(np.abs(state[name].numpy()).max())
            assert bound * 0.5 <= largest <= bound, name


@pytest.mark.parametrize("norm", [False, True])
def test_encoder_agrees_with_pytorch(norm: bool) -> None:
    layers = pair(norm_first=norm)
    ours = nn.TransformerEncoder(layers[0], 3, nn.LayerNorm(E) if norm else None)
    theirs = torch.nn.TransformerEncoder(
        layers[1], 3, torch.nn.LayerNorm(E) if norm else None, enable_nested_tensor=False
    )
    assert repr(ours) == repr(theirs).replace("NonDynamicallyQuantizable", "")
    for i, p in enumerate(ours.parameters()):
        with vkml.no_grad():
            p += 0.1 * vkml.randn(p.shape, seed=i)
    twin(ours, theirs)
    mine, its = MASKS["both"]
    its = {k.replace("src_mask", "mask"): v for k, v in its.items()}
    compare(
        ours,
        theirs,
        [host(1, N, L, E)],
        lambda m, x: m(*x, **given(mine, vkml.tensor)),
        lambda m, x: m(*x, **given(its, torch.from_numpy)),
    )


def test_encoder_layers_are_independent_copies() -> None:
    layer = nn.TransformerEncoderLayer(E, H, F)
    encoder = nn.TransformerEncoder(layer, 2)
    assert len(list(encoder.parameters())) == 2 * len(list(layer.parameters()))
    state = encoder.state_dict()
    for name, value in layer.state_dict().items():
        for i in range(2):
            np.testing.assert_array_equal(state[f"layers.{i}.{name}"].numpy(), value.numpy())
    with vkml.no_grad():
        encoder.layers[0].linear1.weight.assign_(0.0)
    assert layer.linear1.weight.numpy().any()
    assert encoder.layers[1].linear1.weight.numpy().any()


def test_dropout_masks_differ_by_place_and_call() -> None:
    vkml.manual_seed(0)
    width = 64
    layer = nn.TransformerEncoderLayer(width, H, width, dropout=0.5)
    encoder = nn.TransformerEncoder(layer, 2)
    masks: list[np.ndarray] = []
    for module in encoder.modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_pre_hook(lambda m, args: vkml.ones_like(args[0]))
            module.register_forward_hook(lambda m, args, y: masks.append(y.numpy() != 0))
    for _ in range(2):
        encoder(vkml.ones(2, 9, width))
    assert len(masks) == 12
    for a, b in itertools.combinations(masks, 2):
        assert abs((a == b).mean() - 0.5) < 0.1


@pytest.mark.parametrize("training", [True, False])
def test_bits_are_the_same_everywhere(training: bool) -> None:
    def program(device: str) -> dict[str, Any]:
        model = nn.Sequential(
            nn.PositionalEncoding(E, 50, dropout=0.1, device=device),
            nn.TransformerEncoderLayer(E, H, F, activation="gelu", device=device),
            nn.TransformerEncoderLayer(E, H, F, norm_first=True, device=device),
        ).train(training)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for _ in range(2):
            optimizer.zero_grad()
            loss = (model(vkml.randn(N, L, E, device=device)) ** 2.0).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss)
        return {**model.state_dict(), **{f"loss {i}": v for i, v in enumerate(losses)}}

    same_everywhere(program)


def test_a_step_is_one_submission() -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(E, H, F), 2, nn.LayerNorm(E))
    optimizer = optim.SGD(encoder.parameters(), lr=0.1)
    x, padding = vkml.tensor(host(1, N, L, E)), vkml.tensor(PADDING)
    before = submissions()
    for _ in range(3):
        optimizer.zero_grad()
        loss = (encoder(x, None, padding, is_causal=True) ** 2.0).mean()
        loss.backward()
        optimizer.step()
        loss.item()
    assert submissions() - before == 3


@pytest.mark.parametrize(
    ("length", "d_model", "base"), [(5000, 16, 1e4), (700, 7, 1e4), (60, 4, 1.0), (90, 1, 3.5)]
)
def test_sinusoids_are_exact_to_float32(length: int, d_model: int, base: float) -> None:
    columns = np.arange(d_model)
    angle = np.arange(length)[:, None] * base ** (-(columns - columns % 2) / d_model)
    wanted = np.where(columns % 2, np.cos(angle), np.sin(angle))
    found = sinusoids(length, d_model, base)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2.0**-25 + 1e-11)


def test_sinusoids_are_the_same_on_every_machine() -> None:
    # Written down once; only integers, decimals and IEEE 754 products and sums lead to them.
    table = sinusoids(5000, 512, 10000.0)
    assert [float(v).hex() for v in table[4999, [0, 1, 2, 255, 510, 511]]] == HEX
    assert int(np.bitwise_xor.reduce(table.view(np.uint32).ravel())) == XOR


def test_positional_encoding_is_added() -> None:
    layer = nn.PositionalEncoding(6, max_len=9)
    x = host(1, 2, 5, 6)
    wanted = x + sinusoids(9, 6, 10000.0)[:5]
    np.testing.assert_array_equal(layer(vkml.tensor(x)).numpy(), wanted)
    np.testing.assert_array_equal(layer(vkml.tensor(x[0])).numpy(), wanted[0])
    assert not layer.state_dict() and [k for k, _ in layer.named_buffers()] == ["pe"]
    assert not list(layer.parameters())
    assert copy.deepcopy(layer).pe.shape == (9, 6)
    assert layer.to(vkml.float16)(vkml.tensor(x).to(vkml.float16)).dtype is vkml.float16
    assert "6, max_len=9, base=10000.0" in repr(layer)
    dropped = nn.PositionalEncoding(6, dropout=0.5)(vkml.ones(200, 5, 6)).numpy()
    assert abs((dropped == 0).mean() - 0.5) < 0.05


def test_bad_arguments() -> None:
    layer = nn.PositionalEncoding(6, max_len=9)
    make = nn.TransformerEncoderLayer
    for error, message, run in (
        (ValueError, "d_model: expected at least 1", lambda: nn.PositionalEncoding(0)),
        (ValueError, "max_len: expected at least 1", lambda: nn.PositionalEncoding(4, 0)),
        (ValueError, "base must be ≥ 1", lambda: nn.PositionalEncoding(4, base=0.5)),
        (ValueError, "base must be ≥ 1", lambda: nn.PositionalEncoding(4, base=float("nan"))),
        (ValueError, "base must be ≥ 1", lambda: nn.PositionalEncoding(4, base=float("inf"))),
        (TypeError, "base: expected a number", lambda: nn.PositionalEncoding(4, base="1")),
        (ValueError, r"L ≤ 9, got \(1, 10, 6\)", lambda: layer(vkml.ones(1, 10, 6))),
        (ValueError, r"got \(1, 9, 5\)", lambda: layer(vkml.ones(1, 9, 5))),
        (ValueError, r"got \(6,\)", lambda: layer(vkml.ones(6))),
        (TypeError, "input: expected a floating", lambda: layer(vkml.ones(9, 6).to(vkml.int64))),
        (
            ValueError,
            "activation: got 'tanh', expected one of",
            lambda: make(8, 2, activation="tanh"),
        ),
        (ValueError, "activation: got 3", lambda: make(8, 2, activation=3)),
        (ValueError, "num_heads 3 must divide", lambda: make(8, 3)),
        (ValueError, "dim_feedforward: expected at least 1", lambda: make(8, 2, 0)),
        (TypeError, "norm_first", lambda: make(8, 2, norm_first="no")),
        (ValueError, "probability", lambda: make(8, 2, dropout=1.5)),
        (
            ValueError,
            "num_layers: expected at least 1",
            lambda: nn.TransformerEncoder(make(8, 2), 0),
        ),
        (TypeError, "encoder_layer: expected a Module", lambda: nn.TransformerEncoder(3, 1)),
        (TypeError, "norm: expected a Module", lambda: nn.TransformerEncoder(make(8, 2), 1, 3)),
        (ValueError, "got", lambda: make(8, 2, 16)(vkml.ones(2, 5, 7))),
    ):
        with pytest.raises(error, match=message):
            run()
