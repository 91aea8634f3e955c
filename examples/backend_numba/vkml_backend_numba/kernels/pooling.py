"""Largest elements of windows, and their gradient: added in the windows' order from +0."""

from __future__ import annotations

import numpy as np

from vkml_backend_numba.compiling import entry, kernel
from vkml_backend_numba.kernels.memory import f32
from vkml_backend_numba.kernels.scalars import one_nan
from vkml_backend_numba.kernels.thread import tell


@kernel
def _first_largest(xs, words, oy, ox):
    """Give the place of the first largest element of a window; NaN is the largest."""
    h, w, kh, kw = words[3], words[4], words[7], words[8]
    top = oy * words[9] - words[11]
    left = ox * words[10] - words[12]
    best, found = np.float32(0), -1
    for ky in range(kh):
        y = top + ky * words[13]
        if y < 0 or y >= h:
            continue
        for kx in range(kw):
            x = left + kx * words[14]
            if x < 0 or x >= w:
                continue
            v = xs[y * w + x]
            if found < 0 or v > best or (v != v and best == best):
                best, found = v, y * w + x
    return found


@kernel
def _quads(xs, out, oh, ow, w):
    """Windows of 2 × 2 side by side: the first largest of four without a branch."""
    for y in range(oh):
        for x in range(ow):
            i = 2 * (y * w + x)
            best = xs[i]
            for j in (1, w, w + 1):
                v = xs[i + j]
                best = v if v > best or v != v else best
            out[y * ow + x] = one_nan(best)


@entry
def max_pool(words, addresses, task, first, last, scratch, thread):
    """Pool planes `first` to `last`. Words: slots of images, of gradients (or −1), of the result;
    H, W, oh, ow, kernel, stride, padding, dilation, whether windows are 2 × 2 side by side.
    """
    h, w, oh, ow = words[3], words[4], words[5], words[6]
    for plane in range(first, last):
        xs = f32(addresses[words[0]] + plane * h * w * 4, h * w)
        out = f32(addresses[words[2]] + plane * oh * ow * 4, oh * ow)
        if words[15]:
            _quads(xs, out, oh, ow, w)
            continue
        for y in range(oh):
            for x in range(ow):
                out[y * ow + x] = xs[_first_largest(xs, words, y, x)]
    tell(thread, first * oh * ow, last * oh * ow)


@kernel
def _beats(v, best):
    """Whether a later element of a window is the largest so far: the first NaN stays."""
    return (v > best) | ((v != v) & (best == best))


@kernel
def _quad_grads(xs, g, out, oh, ow, w):
    """Gradients of windows of 2 × 2 side by side: each element is written once, no branch."""
    zero = np.float32(0)
    for y in range(oh):
        for x in range(ow):
            i = 2 * (y * w + x)
            a, b, c, d = xs[i], xs[i + 1], xs[i + w], xs[i + w + 1]
            second = _beats(b, a)
            best = b if second else a
            third = _beats(c, best)
            best = c if third else best
            fourth = _beats(d, best)
            v = one_nan(zero + g[y * ow + x])
            out[i] = zero if second | third | fourth else v
            out[i + 1] = zero if (not second) | third | fourth else v
            out[i + w] = zero if (not third) | fourth else v
            out[i + w + 1] = v if fourth else zero


@entry
def max_pool_grad(words, addresses, task, first, last, scratch, thread):
    """Add gradients at the first largest elements of planes `first` to `last`; words as above."""
    h, w, oh, ow = words[3], words[4], words[5], words[6]
    for plane in range(first, last):
        xs = f32(addresses[words[0]] + plane * h * w * 4, h * w)
        g = f32(addresses[words[1]] + plane * oh * ow * 4, oh * ow)
        out = f32(addresses[words[2]] + plane * h * w * 4, h * w)
        for i in range(h * w):
            out[i] = np.float32(0)
        if words[15]:
            _quad_grads(xs, g, out, oh, ow, w)
            continue
        for y in range(oh):
            for x in range(ow):
                k = _first_largest(xs, words, y, x)
                out[k] = one_nan(out[k] + g[y * ow + x])
    tell(thread, first * h * w, last * h * w)
