"""Backends are tried in processes of their own: what crashes or hangs there harms nobody else."""
