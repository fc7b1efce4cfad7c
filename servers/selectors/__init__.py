"""Reading what users own. A selector that takes a caller shows only what that caller may know of."""
