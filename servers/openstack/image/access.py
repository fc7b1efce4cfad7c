"""What a method of the Image API needs."""

from enum import Enum


class ImageAccess(Enum):
    """The values are actions of the policy."""

    READ = "images:read"
    WRITE = "images:write"
    PUBLISH = "images:publish"
