"""The gradient rules that are longer than a line."""

from __future__ import annotations

from vkml_core.graph import Node, build, const
from vkml_core.ops.rules import expand, flip, pad, permute, reshape, slice_axis, sum_
from vkml_core.shapes import reduce_shape, size


def prod_gradient(node: Node, g: Node) -> Node:
    """Walk the contract's tree of neighbouring pairs back: each gets g times its neighbour.

    No division, so zeros need no case, and every step is differentiable again.
    """
    x, axes = node.inputs[0], node.attrs.axes
    rank = len(x.shape)
    kept = [a for a in range(rank) if a not in axes]
    order = [*kept, *axes]
    outer, inner = size(reduce_shape(x.shape, axes)), size(x.shape[a] for a in axes)
    if outer * inner == 0:
        return const(x, 0)
    levels = [reshape(permute(x, order), (outer, inner))]
    while levels[-1].shape[1] > 1:
        levels.append(build.mul(*_pairs(levels[-1])))
    grad = reshape(g, (outer, 1))
    for level in reversed(levels[:-1]):
        left, right = _pairs(level)
        both = build.cat(*(_column(grad * other) for other in (right, left)), axis=2)
        grad = reshape(both, (outer, 2 * left.shape[1]))
        grad = slice_axis(grad, 1, 0, level.shape[1])
    back = reshape(grad, tuple(x.shape[a] for a in order))
    return permute(back, [order.index(a) for a in range(rank)])


def _pairs(x: Node) -> tuple[Node, Node]:
    """Split (outer, n) into left and right neighbours, padding an odd n with 1."""
    n = x.shape[1]
    if n % 2:
        x = pad(x, 1, low=(0, 0), high=(0, 1), interior=(0, 0))
    half = (n + 1) // 2
    return slice_axis(x, 1, 0, half, 2), slice_axis(x, 1, 1, half, 2)


def _column(x: Node) -> Node:
    return reshape(x, (*x.shape, 1))


def expand_gradient(node: Node, g: Node) -> Node:
    """Sum what was broadcast: the only place where a gradient is un-broadcast."""
    x = node.inputs[0]
    lead = len(node.shape) - len(x.shape)
    axes = [i for i, d in enumerate(node.shape) if i < lead or (x.shape[i - lead] == 1 and d != 1)]
    return reshape(sum_(g, axes), x.shape)


def slice_gradient(node: Node, g: Node) -> Node:
    """Put each element back at its place, zeros between: the adjoint of a strided slice."""
    x, a = node.inputs[0], node.attrs
    back = [i for i, step in enumerate(a.step) if step < 0]
    interior = tuple(abs(k) - 1 for k in a.step)
    low = tuple(
        min(s, s + (n - 1) * k) if n else d
        for s, n, k, d in zip(a.start, a.length, a.step, x.shape, strict=True)
    )
    high = tuple(
        d - lo - (n - 1) * (i + 1) - 1 if n else 0
        for d, lo, n, i in zip(x.shape, low, a.length, interior, strict=True)
    )
    return pad(flip(g, back), 0, low=low, high=high, interior=interior)


def pad_gradient(node: Node, g: Node) -> Node:
    """Take the elements that were there before the padding."""
    x, a = node.inputs[0], node.attrs
    step = tuple(i + 1 for i in a.interior)
    return build.slice(g, start=a.low, length=x.shape, step=step)


def pad_value_gradient(node: Node, g: Node) -> Node:
    """Sum over the places that the value filled."""
    x, a = node.inputs[0], node.attrs
    filled = pad(const(x, 0), 1, low=a.low, high=a.high, interior=a.interior)
    return sum_(g * filled, range(len(g.shape)))


def cat_gradient(node: Node, g: Node, i: int) -> Node:
    """Take input i's part."""
    axis = node.attrs.axis
    start = sum(x.shape[axis] for x in node.inputs[:i])
    return slice_axis(g, axis, start, node.inputs[i].shape[axis])


def max_pool2d_gradient(node: Node, g: Node) -> Node:
    """Send each gradient to the first maximum of its window.

    Which one that is does not change where there is a derivative, so no gradient flows through x.
    """
    x, a = build.detach(node.inputs[0]), node.attrs
    return build.max_pool2d_input_grad(
        g, x, kernel=a.kernel, stride=a.stride, padding=a.padding, dilation=a.dilation
    )


def max_pool2d_input_grad_gradient(node: Node, g: Node) -> Node:
    """Read back from the first maximum of each window."""
    source, x = node.inputs
    a = node.attrs
    where = build.max_pool2d_indices(
        x, kernel=a.kernel, stride=a.stride, padding=a.padding, dilation=a.dilation
    )
    return _taken(source, where, g)


def max_unpool2d_gradient(node: Node, g: Node) -> Node:
    """Read back from the places that were added to."""
    source, where = node.inputs
    return _taken(source, where, g)


def _taken(source: Node, where: Node, g: Node) -> Node:
    """Give the elements of g, an image, at the places of a source's windows."""
    n, c, h, w = g.shape
    flat = (n, c, size(source.shape[2:]))
    taken = build.gather(reshape(g, (n, c, h * w)), reshape(where, flat), axis=2)
    return reshape(taken, source.shape)


def avg_pool2d_gradient(node: Node, g: Node) -> Node:
    """Share each gradient equally among the window's elements."""
    x, a = node.inputs[0], node.attrs
    n, c, h, w = x.shape
    taps, places = a.kernel[0] * a.kernel[1], size(node.shape[2:])
    share = reshape(g / float(taps), (n, c, 1, places))
    cols = reshape(expand(share, (n, c, taps, places)), (n, c * taps, places))
    return build.col2im(
        cols, image=(h, w), kernel=a.kernel, stride=a.stride, padding=a.padding, dilation=(1, 1)
    )
