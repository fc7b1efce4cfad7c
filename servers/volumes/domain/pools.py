"""Pools in Placement: what their providers are called and offer, and by which trait a host says that it reaches one."""

import uuid

VOLUME_GB = "CUSTOM_VOLUME_GB"
"""The class of which a volume holds as many units as it has GiB."""
SHARING = "MISC_SHARES_VIA_AGGREGATE"
GIB = 2**30
_PREFIX = "CUSTOM_VOLUME_POOL_"
_DIGITS = 12


def pool_trait(pool_id: uuid.UUID) -> str:
    """That a host reaches this pool, and its guests may have the pool's volumes."""
    return f"{_PREFIX}{pool_id.hex[:_DIGITS].upper()}"


def is_of_trait(pool_id: uuid.UUID, trait: str) -> bool:
    """Whether this trait is about this pool."""
    return trait == pool_trait(pool_id)


def is_pool_trait(trait: str) -> bool:
    """Whether this trait is about any pool."""
    return trait.startswith(_PREFIX)


def provider_name(name: str, host: str) -> str:
    """Of the pool's resource provider: such names nobody else gives."""
    return f"volumes {name} of {host}" if host else f"volumes {name}"


def whole_gib(size_bytes: int) -> int:
    """How many whole GiB these are."""
    return size_bytes // GIB
