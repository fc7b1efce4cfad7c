"""What goes to Placement as it stands: amounts of resource classes, traits, and how groups relate."""

import difflib
import re
from collections.abc import Iterable

import os_resource_classes
import os_traits

from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.allowed import number, one_of
from servers.catalog.domain.extra_specs.rules import KeyRule
from servers.fields import INTEGER_MAX

STANDARD_CLASSES = frozenset(os_resource_classes.STANDARDS)
STANDARD_TRAITS = frozenset(os_traits.get_traits())
_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")


def class_complaint(name: str) -> str:
    """Why there is no resource class of this name; empty when there may be one."""
    return _name_complaint(name, _("a standard resource class"), STANDARD_CLASSES)


def trait_complaint(name: str) -> str:
    """Why there is no trait of this name; empty when there may be one."""
    return _name_complaint(name, _("a standard trait"), STANDARD_TRAITS)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """' Did you mean ...?' with the nearest of the known names; empty when none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]}?" if near else ""


def _name_complaint(name: str, what: str, standard: frozenset[str]) -> str:
    if name in standard or _CUSTOM.fullmatch(name):
        return ""
    sentence = _(
        "{name!r:.80} is neither {what} nor CUSTOM_ with capitals, digits and underscores.", name=name, what=what
    )
    return sentence + did_you_mean(name[:255].upper(), sorted(standard))


PLACEMENT_RULES: tuple[KeyRule, ...] = (
    KeyRule(
        "resources{group}:{name}",
        number(0, INTEGER_MAX),
        gettext_noop(
            "How many of a resource class. Without a group it replaces what the flavor's sizes ask for, and 0 takes "
            "the class out; with a group (`resources1:`, `resources_gpu:`) one provider must serve the whole group."
        ),
        class_complaint,
    ),
    KeyRule(
        "trait{group}:{name}",
        one_of("required", "forbidden"),
        gettext_noop("A trait that the providers of the group must or must not have."),
        trait_complaint,
    ),
    KeyRule(
        "group_policy",
        one_of("none", "isolate"),
        gettext_noop(
            "Whether two groups may be served by one provider (none) or not (isolate). Needed from two groups on."
        ),
    ),
)
