"""Pure rules of volumes: states, types, block devices, errors. No Django."""
