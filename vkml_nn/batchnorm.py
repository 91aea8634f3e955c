"""BatchNorm1d and BatchNorm2d: normalising each channel over the batch."""

from __future__ import annotations

from typing import Any, ClassVar

from vkml_core.dtypes import float32, int64
from vkml_core.errors import ShapeError
from vkml_core.functional.common import Operand, bool_arg, probability_arg, tensor_arg
from vkml_core.functional.creation import Device, ones, zeros
from vkml_core.graph import no_grad
from vkml_core.tensor import Tensor
from vkml_nn import init
from vkml_nn.affine import Affine
from vkml_nn.arguments import count_arg, eps_arg
from vkml_nn.normalize import batch_norm


class BatchNorm(Affine):
    """What the batch normalisations share: all but the ranks that they take.

    The buffers running_mean, running_var (num_features,) and num_batches_tracked (int64) follow the
    batches in training; their assignments join the step's submission.
    """

    ranks: ClassVar[tuple[int, ...]]
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: Any = float32,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.num_features = count_arg(num_features, f"{name}: num_features")
        self.eps = eps_arg(eps, f"{name}: eps")
        what = f"{name}: momentum"
        self.momentum = None if momentum is None else probability_arg(momentum, what)
        self.affine = bool_arg(affine, f"{name}: affine")
        self.track_running_stats = bool_arg(track_running_stats, f"{name}: track_running_stats")
        shape, shift = (self.num_features,), bool_arg(bias, f"{name}: bias")
        self.make_parameters(shape, self.affine, shift, device, dtype)
        for buffer, value in self._first_statistics(device, dtype).items():
            self.register_buffer(buffer, value if self.track_running_stats else None)

    def _first_statistics(self, device: Device, dtype: Any) -> dict[str, Tensor]:
        n = self.num_features
        return {
            "running_mean": zeros(n, dtype=dtype, device=device).realize(),
            "running_var": ones(n, dtype=dtype, device=device).realize(),
            "num_batches_tracked": zeros((), dtype=int64, device=device).realize(),
        }

    def reset_running_stats(self) -> None:
        """Forget the batches seen."""
        firsts = ((self.running_mean, 0.0), (self.running_var, 1.0), (self.num_batches_tracked, 0))
        for buffer, value in firsts:
            if buffer is not None:
                init.constant_(buffer, value)

    def reset_parameters(self) -> None:
        """Go back to ones and zeros, the running statistics too."""
        super().reset_parameters()
        self.reset_running_stats()

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        if tensor_arg(input, f"{type(self).__name__}: input").ndim not in self.ranks:
            wanted = " or ".join(map(str, self.ranks))
            raise ShapeError(
                f"{type(self).__name__}: expected {wanted}D input, got shape {input.shape}"
            )
        batch = self.training or self.running_mean is None
        if not self.training or self.num_batches_tracked is None:
            return self._normalized(input, batch, 0.0)
        with no_grad():
            count = self.num_batches_tracked + 1
            share = 1.0 / count if self.momentum is None else self.momentum
        y = self._normalized(input, batch, share)
        with no_grad():
            self.num_batches_tracked.assign_(count)
        return y

    def _normalized(self, input: Tensor, batch: bool, momentum: Operand) -> Tensor:
        statistics = (self.running_mean, self.running_var)
        return batch_norm(input, *statistics, self.weight, self.bias, batch, momentum, self.eps)

    def extra_repr(self) -> str:
        """Say the size and the options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(BatchNorm):
    """`BatchNorm2d` for inputs (N, C) and (N, C, L)."""

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """Normalise each channel of (N, C, H, W), then scale by `weight` (C,) and shift by `bias`.

    In training with the batch's mean and biased variance, while the running mean and the running
    (unbiased) variance become (1 − momentum) · running + momentum · batch's, or with momentum None
    the mean over all batches. In evaluation with the running ones, unless `track_running_stats` is
    false. Ioffe and Szegedy (2015).

    >>> import vkml
    >>> from vkml import nn
    >>> layer = nn.BatchNorm2d(3)
    >>> layer(vkml.ones(2, 3, 4, 4)).shape, layer.num_batches_tracked.item()
    ((2, 3, 4, 4), 1)
    """

    ranks = (4,)
