"""What the stage's installation is called by both its processes and its harness. Imports nothing of Django."""

import uuid

PASSWORD = "correct horse battery staple"
FLAVOR = "drill"
MEMORY_MIB = 32
IMAGES = 16
"""Each is fetched once by the hypervisors' shared cache, so fetching needs new ones."""


def image_name(number: int) -> str:
    """The image's name, from 0 to IMAGES - 1."""
    return f"drill-{number}"


def image_id(number: int) -> uuid.UUID:
    """Its id."""
    return uuid.uuid5(uuid.NAMESPACE_OID, image_name(number))
