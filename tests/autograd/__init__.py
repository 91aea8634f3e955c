"""Tests of the gradient rules."""
