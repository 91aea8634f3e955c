"""Keeps pytest from looking for examples here: one module cannot be imported, on purpose."""

collect_ignore_glob = ["*.py"]
