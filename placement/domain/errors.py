"""Conflicts of placement, by type, so that each door can give them its own code."""

from typing import ClassVar
from uuid import UUID

from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _


class ConsumerChanged(Conflict):
    """A consumer is not at the generation its client has seen; `expected` and `actual` None: holds nothing.

    Extra: consumer_uuid (UUID), expected, actual, and consumer_uuids, the uuids as text of all such consumers.
    """

    code: ClassVar[str] = "consumer_changed"


class ProviderChanged(Conflict):
    """A provider is not at the generation its client has seen. Extra: provider_uuid (UUID), expected, generation."""

    code: ClassVar[str] = "provider_changed"


class InventoryInUse(Conflict):
    """An inventory that would go away has allocations. Extra: provider_uuid (UUID), in_use ({class: used})."""

    code: ClassVar[str] = "inventory_in_use"
    retryable = False


def consumer_changed(lost: dict[UUID, tuple[int | None, int | None]]) -> ConsumerChanged:
    """The error for these consumers: {uuid: (expected, actual)}; it speaks of the first."""
    uuid, (expected, actual) = next(iter(lost.items()))
    text = _("Consumer {uuid} is at generation {actual}, not {expected}.", uuid=uuid, actual=actual, expected=expected)
    if actual is None:
        text = _("Consumer {uuid} holds nothing, so it is not at generation {expected}.", uuid=uuid, expected=expected)
    elif expected is None:
        text = _("Consumer {uuid} holds allocations already.", uuid=uuid)
    return ConsumerChanged(
        text, consumer_uuid=uuid, expected=expected, actual=actual, consumer_uuids=[str(one) for one in lost]
    )


def provider_changed(uuid: UUID, *, expected: int, actual: int) -> ProviderChanged:
    """The error for this provider."""
    return ProviderChanged(
        _(
            "Resource provider {uuid} is at generation {actual}, not {expected}.",
            uuid=uuid,
            actual=actual,
            expected=expected,
        ),
        provider_uuid=uuid,
        expected=expected,
        generation=actual,
    )
