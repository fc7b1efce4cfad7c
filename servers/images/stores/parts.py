"""Bytes that come piece by piece, in requests of their own, to any process: what a store can do with such an upload."""

from typing import Protocol

PIECE_BYTES = 8 * 2**20
"""Of an upload in pieces; S3 takes at least 5 MiB, and one piece is in memory for each upload."""


class ResumablePart(Protocol):
    """An upload that nobody sees before it is published. Every call raises Unavailable when the store does not answer,
    and Conflict when somebody removed the part.
    """

    @property
    def handle(self) -> str:
        """By which the same part is opened again, anywhere; at most 1000 characters."""

    def size(self) -> int:
        """How many bytes have come, from the first on and without a gap, in whole pieces."""

    def write(self, offset: int, data: bytes) -> None:
        """The piece that begins at `offset`, a multiple of the store's `piece_bytes`. The same piece may come again."""

    def publish(self, size_bytes: int) -> None:
        """All have come: let them be read by their name. Raises Conflict when there are not `size_bytes`."""

    def remove(self) -> None:
        """Nothing of it stays. It may be gone already."""
