"""What each path of the Compute API answers."""
