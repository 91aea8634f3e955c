"""Conformance of a backend: cases derived from the registry, compared bit for bit."""
