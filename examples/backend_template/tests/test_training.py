"""Training on the backend: losses and weights have the bits that they have on the CPU oracle."""

import vkml
from vkml import nn, optim


def trained(device: str) -> bytes:
    """Train a small network; give the bytes of its losses and weights."""
    vkml.manual_seed(0)
    x = vkml.randn(64, 2)
    y = x[:, :1] * x[:, 1:]
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1)).to(device)
    x, y = x.to(device), y.to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    assert losses[-1].item() < losses[0].item() / 2
    return b"".join(t.numpy().tobytes() for t in (*losses, *model.parameters()))


def test_training_has_the_bits_of_the_oracle() -> None:
    """Not nearly: the same bits."""
    assert trained("template") == trained("cpu")
