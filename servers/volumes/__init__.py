"""Volumes: what a user has apart from any instance, and what instances have of it."""
