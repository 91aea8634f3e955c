"""Memory by address: kernels get numbers and make typed arrays of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from vkml_backend_numba.compiling import kernel


def _view(element: Any) -> Callable[[int, int], Any]:
    """Make the function that gives an array of `n` elements at an address."""

    @intrinsic
    def pointer(context, address):
        def generate(cgctx, builder, signature, args):
            return builder.inttoptr(args[0], cgctx.get_value_type(signature.return_type))

        return types.CPointer(element)(types.int64), generate

    @kernel
    def view(address, n):
        return carray(pointer(address), (n,))

    return view


f32 = _view(types.float32)
i32 = _view(types.int32)
i64 = _view(types.int64)
u8 = _view(types.uint8)
u16 = _view(types.uint16)
u32 = _view(types.uint32)


def _bitcast(source: Any, target: Any) -> Any:
    @intrinsic
    def cast(context, value):
        def generate(cgctx, builder, signature, args):
            return builder.bitcast(args[0], cgctx.get_value_type(signature.return_type))

        return target(source), generate

    return cast


bits_of = _bitcast(types.float32, types.int32)
"""The bits of a float32."""
float_of = _bitcast(types.int32, types.float32)
"""The float32 of some bits."""
long_of = _bitcast(types.float64, types.int64)
"""The bits of a float64."""
double_of = _bitcast(types.int64, types.float64)
"""The float64 of some bits."""


@intrinsic
def widen(context, bits):
    """Give the float32 of a float16's bits: exact."""

    def generate(cgctx, builder, signature, args):
        return builder.fpext(builder.bitcast(args[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), generate


@intrinsic
def narrow(context, value):
    """Give the bits of the float16 nearest to a float32, ties to even."""

    def generate(cgctx, builder, signature, args):
        return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), generate


def caller(signature: Any) -> Any:
    """Make the function that calls one of a signature at an address; addresses stand for arrays."""
    count = len(signature.args)

    @intrinsic
    def call(context, address, arguments):
        def generate(cgctx, builder, _, given):
            kinds = [cgctx.get_value_type(kind) for kind in signature.args]
            function = ir.FunctionType(ir.VoidType(), kinds).as_pointer()
            values = (builder.extract_value(given[1], i) for i in range(count))
            told = [
                builder.inttoptr(v, k) if isinstance(k, ir.PointerType) else v
                for v, k in zip(values, kinds, strict=True)
            ]
            builder.call(builder.inttoptr(given[0], function), told)
            return cgctx.get_dummy_value()

        return types.void(types.int64, types.UniTuple(types.int64, count)), generate

    return call


def _rounded(name: str) -> Any:
    @intrinsic
    def to_integer(context, value):
        def generate(cgctx, builder, signature, args):
            function = builder.module.declare_intrinsic(f"llvm.{name}", [ir.FloatType()])
            return builder.call(function, args)

        return types.float32(types.float32), generate

    return to_integer


floor, ceil, trunc, rint = map(_rounded, ("floor", "ceil", "trunc", "rint"))
"""To an integer, as a float32; the sign of zero is kept, `rint` takes ties to even."""
