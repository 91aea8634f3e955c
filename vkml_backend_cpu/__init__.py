"""The oracle: the numerics contract written in plain NumPy."""
