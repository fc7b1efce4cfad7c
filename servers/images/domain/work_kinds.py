"""Kinds of the conductor's long work on images; the subject is the image."""

from typing import Final

IMAGE_IMPORT: Final = "image_import"
IMAGE_CONVERT: Final = "image_convert"
IMAGE_WORK: Final = (IMAGE_IMPORT, IMAGE_CONVERT)
