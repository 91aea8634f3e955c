"""Compiled kernels: each does one task of a substep of a program."""
