"""Backends that are broken on purpose, each as a real one goes wrong; the suite must catch them.

`catalogue.MUTANTS` lists them with the verdict that each must get. A backend is named to the
suite as `mutants.arithmetic:fused` where this folder's parent is on the path.
"""
