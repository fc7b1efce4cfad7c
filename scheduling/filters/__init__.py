"""Filters: which hosts may take an instance at all. One file each; `BaseHostFilter` is the base of your own."""

from scheduling.filters.base import BaseHostFilter, Filter

__all__ = ["BaseHostFilter", "Filter"]
