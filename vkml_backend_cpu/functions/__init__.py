"""The functions of the oracle that work on whole arrays: of values, never of layout."""
