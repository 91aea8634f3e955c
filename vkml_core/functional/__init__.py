"""The public functions: thin, checked entries to the rows, and compositions of them."""
