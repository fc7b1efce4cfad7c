"""Filters, weighers and schedulers from other packages: finding them, and keeping their failures apart."""
