"""Which installation a store belongs to."""

import uuid

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from servers.images.stores.store import MARKER
from servers.models import ImageStore
from servers.models.image_store import ONLY


def installation_id() -> uuid.UUID:
    """The id that the marker of our store carries."""
    return ImageStore.objects.get_or_create(pk=ONLY)[0].marker


def marker_text() -> str:
    """What the marker says."""
    return f"{installation_id()}\n"


def marker_is_ours(text: str | None) -> bool:
    """Whether a marker that says this is ours."""
    return text is not None and parse_uuid(text.strip()) == installation_id()


def not_ours(place: str) -> Unavailable:
    """The error for whoever wants to write in another installation's place."""
    return Unavailable(
        _(
            "{place} belongs to another installation: its file {marker} does not carry this "
            "one's id, {installation_id}. An administrator must set another place, or remove "
            "that file if the other installation is gone.",
            place=place,
            marker=MARKER,
            installation_id=installation_id(),
        )
    )
