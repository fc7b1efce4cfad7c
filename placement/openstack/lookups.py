"""The provider in a path, and what services refuse about it, as faults."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from controlplane.kernel.errors import NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import ApiFault, conflict, not_found
from placement.domain import ProviderChanged
from placement.openstack.faults import CONCURRENT_UPDATE
from placement.selectors.providers import provider_row

GENERATION_CONFLICT = (
    "resource provider generation conflict: Resource provider's generation already changed. "
    "Please update the generation and try again."
)


def provider_uuid(text: str) -> UUID:
    """The uuid in a path. Fault 404 for what is none, because no provider can have it."""
    uuid = parse_uuid(text)
    if uuid is None:
        raise no_provider(text)
    return uuid


def no_provider(text: object) -> ApiFault:
    """404 for this provider."""
    return not_found(f"No resource provider with uuid {text} found")


@contextmanager
def provider_first(text: str, generation: int | None = None) -> Iterator[None]:
    """Around judging a body: a missing provider, or another generation, is reported before what is wrong in the body.

    So a good request needs no query of its own: its service finds out.
    """
    try:
        yield
    except ApiFault as fault:
        provider = provider_row(provider_uuid(text))
        if provider is None:
            raise no_provider(text) from fault
        if generation not in (None, provider.generation):
            raise conflict(GENERATION_CONFLICT, CONCURRENT_UPDATE) from fault
        raise


@contextmanager
def provider_faults(text: str) -> Iterator[None]:
    """Around a service: the provider is gone (404), or at another generation (409)."""
    try:
        yield
    except ProviderChanged as error:
        raise conflict(GENERATION_CONFLICT, CONCURRENT_UPDATE) from error
    except NotFound as error:
        raise no_provider(text) from error
