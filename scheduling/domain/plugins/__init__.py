"""Filters, weighers and schedulers from other packages: finding them, and isolating their failures."""
