"""A fast CPU backend for vkml: whole plans, compiled by Numba, in the contract's order."""
