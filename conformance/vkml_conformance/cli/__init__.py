"""The command `vkml-conformance`. Needs click and rich, which the extra `conformance` brings."""
