"""Units: memory and disk are binary (MiB, GiB) everywhere; names carry them."""

MIB = 2**20
GIB = 2**30


def bytes_to_gib_up(size_bytes: int) -> int:
    """Whole GiB that hold `size_bytes`."""
    return -(-size_bytes // GIB)


def human_bytes(size_bytes: int) -> str:
    """For people: '14.9 MiB'."""
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
