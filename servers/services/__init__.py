"""Changing what users own: keyword-only functions, one transaction each, every change of state a compare-and-set."""
