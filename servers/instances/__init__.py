"""Instances: create, actions, states, deletion, and how they are read."""
