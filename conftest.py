"""What every test shares: hypothesis' profile, and modules that doctest must not collect.

Hypothesis draws the same examples in every run, so that a run that passed passes again; set
`HYPOTHESIS_PROFILE=explore` to draw new ones.
"""

import os

from hypothesis import settings

collect_ignore = ["vkml/nn.py", "vkml/optim.py"]  # they stand for the packages themselves
if "TEST_VULKAN" not in os.environ:
    collect_ignore.append("tests/vulkan")  # of a backend that is not finished

settings.register_profile("steady", deadline=None, derandomize=True, database=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
