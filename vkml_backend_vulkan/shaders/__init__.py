"""GLSL sources, the tables that instantiate them, and the SPIR-V that they compile to."""
