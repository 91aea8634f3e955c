"""The float32 inputs whose results come nearest to a rounding midpoint, found exhaustively.

For each function the input of the worst case (for sigmoid: of its worst family), as in the
numerics contract.
"""

WORST_CASES: dict[str, list[str]] = {
    "exp": ["-0x1.d2259ap+3"],
    "exp2": ["-0x1.5a3f34p-21", "-0x1.2cp+7"],
    "expm1": ["0x1.84a5bap-4"],
    "log": ["0x1.b121a6p+76"],
    "log2": ["0x1.40f572p-2"],
    "log10": ["0x1.4d83bap+70"],
    "log1p": ["0x1.800006p-21", "-0x1.7ffffap-21"],
    "sin": ["0x1.487e0cp+103"],
    "cos": ["0x1.2b9622p+67"],
    "tan": ["0x1.fa6748p+64"],
    "tanh": ["0x1.86fbc4p-10"],
    "sigmoid": [f"0x1p{e}" for e in range(-26, -17)] + [f"0x1.8p{e}" for e in range(-26, -17)],
    "erf": ["0x1.81d5acp-13"],
    "erfc": ["-0x1.d93ec4p-17"],
}
