"""What every test shares: hypothesis' profile, threads, and modules that doctest must not collect.

Hypothesis draws the same examples in every run, so that a run that passed passes again; set
`HYPOTHESIS_PROFILE=explore` to draw new ones.
"""

import os
from pathlib import Path

from hypothesis import settings

HELPERS = Path(__file__).parent.glob("tests/vulkan/[!t]*.py")

collect_ignore = ["vkml/nn.py", "vkml/optim.py"]  # they stand for the packages themselves
collect_ignore += [str(path) for path in HELPERS]  # they load Vulkan, which may be missing


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Keep bytes out of the names of tests: they may tell a time, and workers compare names."""
    return argname if isinstance(val, bytes) else None


# Two workers on two cores: OpenMP's threads would wait for each other longer than they compute, in
# PyTorch's programs beside ours a hundred times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("steady", deadline=None, derandomize=True, database=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
