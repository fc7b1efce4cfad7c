"""An image on its way from a host to the control plane."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UploadPlace:
    """Where an upload stands: the next piece begins at `offset` and has `piece_bytes`, unless it is the last.

    `is_done`: the image has these bytes and is in use already.
    """

    offset: int
    piece_bytes: int
    is_done: bool = False
