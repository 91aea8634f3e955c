"""Tests of the public surface: against PyTorch, of laziness, of errors."""
