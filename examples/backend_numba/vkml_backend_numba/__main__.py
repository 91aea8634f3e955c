"""`python -m vkml_backend_numba` compiles all functions ahead of their first use."""

from vkml_backend_numba.ahead import compile_all

if __name__ == "__main__":
    compile_all()
