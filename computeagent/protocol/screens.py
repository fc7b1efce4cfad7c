"""What both sides hold a picture of a guest's screen to."""

MAX_PNG_BYTES = 1 * 2**20
"""A host shrinks a larger picture to half its sides until it fits; the control plane takes no larger one."""
PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
