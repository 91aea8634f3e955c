"""Array kernels of the oracle: functions of values, never of layout."""
