"""`python -m vkml_conformance.cli` is `vkml-conformance`."""

from vkml_conformance.entry import main

main()
