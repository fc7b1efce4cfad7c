"""Names of resource classes and traits: standard ones come from their catalogues, others start with CUSTOM_."""

import re
from enum import StrEnum
from functools import cache

import os_resource_classes
import os_traits

from controlplane.kernel.texts import gettext_noop

CUSTOM_PREFIX = "CUSTOM_"
NAME = re.compile(r"^[A-Z0-9_]{1,255}$")
CUSTOM_NAME = re.compile(r"^CUSTOM_[A-Z0-9_]{1,248}$")


class TraitOwner(StrEnum):
    """Who put a trait on a provider. Each report of a driver replaces what drivers put there, and nothing else."""

    DRIVER = gettext_noop("driver")
    OPERATOR = gettext_noop("operator")
    STATUS = gettext_noop("status")


def is_custom(name: str) -> bool:
    """Whether `name` is a well-formed custom name, which may be made on demand."""
    return CUSTOM_NAME.fullmatch(name) is not None


def is_valid_name(name: str) -> bool:
    """Whether `name` has the form of any class or trait."""
    return NAME.fullmatch(name) is not None


@cache
def standard_resource_classes() -> frozenset[str]:
    """All classes of the catalogue."""
    return frozenset(os_resource_classes.STANDARDS)


@cache
def standard_traits() -> frozenset[str]:
    """All traits of the catalogue."""
    return frozenset(os_traits.get_traits())
