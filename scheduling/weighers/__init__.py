"""Weighers: which of the hosts that passed is best. One file each; `BaseHostWeigher` is the base of your own."""

from scheduling.weighers.base import BaseHostWeigher, Weigher

__all__ = ["BaseHostWeigher", "Weigher"]
