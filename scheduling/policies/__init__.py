"""Versions of the scheduler's policy: their life, preview, shadow runs and comparison."""
