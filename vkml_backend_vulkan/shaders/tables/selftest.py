"""Modules of the self-test: forms of arithmetic as the kernels write them, by family.

A form sets r, four words, from the words a, b, c, d (x together). Its reference in NumPy has the
same name in `vkml_backend_vulkan.selftest`.
"""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.shaders.table import Module

FLOATS: Final[dict[str, str]] = {
    "add": "r.x = f_add(a, b)",
    "sub": "r.x = f_sub(a, b)",
    "mul": "r.x = f_mul(a, b)",
    "product_sum": "r.x = f_canonical(add(mul(a, b), c))",
    "sum_of_products": "r.x = sum_of_products(a, b, c, d & 7u)",
    "vector_products": "r = vector_products(x)",
    "two_sum": "r = u(two_sum(f(a), f(b)))",
    "two_product": "r = u(split_product(f(a), f(b)))",
    "regrouped": "r = regrouped(a, b, c)",
    "sum_from_zero": "r.x = sum_from_zero(x, 1u + (d & 3u))",
}
UNFOLDED: Final = frozenset({"sum_from_zero"})
"""Not asked of folded words: the number of terms, too, is unknown in every kernel that adds up.
(Some drivers take a literal 0 + x for x, which loses the sign of zero.)
"""
CONVERSIONS: Final[dict[str, str]] = {
    "from_uint": "r.x = u(float(a))",
    "to_uint": "r.x = uint(f(a))",
    "to_int": "r.x = uint(int(f(a)))",
    "equal": "r.x = uint(f(a) == f(b))",
    "through_memory": "r = through_memory(x)",
}
COMPARES: Final[dict[str, str]] = {
    "compare": "r = uvec4(f32_equal(a, b), f32_less(a, b), f32_less_equal(a, b), "
    "key_less(order_key(a), order_key(b)))",
    "extremes": "r = uvec4(f32_maximum(a, b), f32_minimum(a, b), f_canonical(f32_relu(a)), "
    "f32_sign(a))",
}
INTEGERS: Final[dict[str, str]] = {
    "product": "r.xy = u64_product(a, b)",
    "u64_add": "r.xy = u64_add(x.xy, x.zw)",
    "u64_sub": "r.xy = u64_sub(x.xy, x.zw)",
    "i64_mul": "r.xy = i64_mul(x.xy, x.zw)",
    "shift": "r.xyz = uvec3(a << (b & 31u), a >> (b & 31u), uint(int(a) >> int(b & 31u)))",
    "u64_shift": "r = uvec4(u64_shl(x.xy, c & 63u), u64_shr(x.xy, c & 63u))",
    "i64_shift": "r.xy = i64_shr(x.xy, c & 63u)",
    "leading_bit": "r.xy = uvec2(uint(findMSB(a)), u64_leading_zeros(x.xy))",
    "divide": "r.xy = uvec2(a / max(b, 1u), a % max(b, 1u))",
    "u64_divide": "r = u64_divide(x.xy, uvec2(c | 1u, d))",
    "signs": "r = uvec4(int(a) < int(b), a < b, uint(sign(int(a))), "
    "uint(clamp(int(a), -126, 127)))",
}
FUSED: Final[dict[str, str]] = {"fma": "r = four_fused(f(a), f(b), f(c))"}
FAMILIES: Final = {
    "selftest.floats": FLOATS,
    "selftest.folded": {name: form for name, form in FLOATS.items() if name not in UNFOLDED},
    "selftest.conversions": CONVERSIONS,
    "selftest.compares": COMPARES,
    "selftest.integers": INTEGERS,
    "selftest.fused": FUSED,
}
_FIRST: Final = 2
"""The specialisation constants before are local_size_x and HARDWARE."""
FOLDED_CASES: Final = 6
"""Groups of four words that `selftest.folded` takes as specialisation constants."""


def _forms(family: dict[str, str]) -> str:
    return " ".join(f"case {i}u: {form}; STORE; break;" for i, form in enumerate(family.values()))


def _folded() -> dict[str, str]:
    count = 4 * FOLDED_CASES
    words = [f"layout(constant_id = {_FIRST + i}) const uint K{i} = 0u;" for i in range(count)]
    groups = [", ".join(f"K{4 * i + k}" for k in range(4)) for i in range(FOLDED_CASES)]
    calls = [f"evaluate({i}u, uvec4({group}));" for i, group in enumerate(groups)]
    return {"CONSTANTS": " ".join(words), "EVALUATE": " ".join(calls)}


MODULES: Final[dict[str, Module]] = {
    name: Module("selftest.comp", {"FORMS": _forms(family)})
    for name, family in FAMILIES.items()
    if name != "selftest.folded"
} | {
    "selftest.folded": Module(
        "selftest.comp", {"FORMS": _forms(FAMILIES["selftest.folded"])} | _folded()
    )
}
