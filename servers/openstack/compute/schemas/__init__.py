"""What bodies of the Compute API may say, for each microversion."""
