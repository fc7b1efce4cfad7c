"""NUMA cells, pinned CPUs and pages: what a guest asks for, what a host has, and how one fits on the other."""
