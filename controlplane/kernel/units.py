"""Units: memory and disk are binary (MiB, GiB) everywhere; names carry them."""

MIB = 2**20
GIB = 2**30


def bytes_to_gib_up(size_bytes: int) -> int:
    """Whole GiB that hold `size_bytes`."""
    return -(-size_bytes // GIB)
