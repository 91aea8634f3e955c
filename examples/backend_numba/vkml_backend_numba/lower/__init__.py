"""Plans to programs: each step becomes substeps that kernels understand."""
