"""The tables of shader modules, one for each family of operations: MODULES by name."""
