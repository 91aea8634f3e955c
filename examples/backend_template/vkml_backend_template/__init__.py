"""The vkml backend template; vkml finds it by the entry point in pyproject.toml."""
