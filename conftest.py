"""Keeps pytest's doctest run away from modules that stand for another one."""

collect_ignore = ["vkml/nn.py", "vkml/optim.py"]
