"""Volumes as files of a directory."""
