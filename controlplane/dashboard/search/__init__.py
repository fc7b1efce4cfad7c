"""The search over everything, as a page and as the palette over every page."""
