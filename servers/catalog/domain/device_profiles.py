"""Device profiles: `accel:device_profile` of a flavor becomes the extra specs that its groups say.

Nova asks Cyborg what a profile means; here the control plane knows it itself. A group is either PCI devices, by the
alias that hosts are set up with, or virtual GPUs of a card that has the named traits. An instance has what the profile
said when the instance was asked for, in its snapshot of the flavor: it is claimed and released with the instance.
"""

import re
from collections.abc import Mapping, Sequence

from os_resource_classes import VGPU

from controlplane.kernel.texts import phrase as _
from scheduling.topology.domain.pci.alias import ALIAS_NAME
from servers.fields import Problems, Reasons, name_reasons, problems_found, text_reasons

PROFILE_KEY = "accel:device_profile"
ALIAS_KEY = "pci_passthrough:alias"
AMOUNT_KEY = f"resources:{VGPU}"
POLICY_KEY = "group_policy"
MAX_GROUPS = 16
MAX_COUNT = 32
_ALIAS = re.compile(rf"{ALIAS_NAME}:[1-9][0-9]?")
_TRAIT = re.compile(r"trait:[A-Z0-9_]{1,255}")

DeviceGroup = Mapping[str, str]


def device_profile_problems(*, name: object, description: object, groups: object) -> Problems:
    """Everything that is wrong with a profile, by field."""
    return problems_found(
        {
            "name": name_reasons(name),
            "description": text_reasons(description, maximum=255),
            "groups": _groups_reasons(groups),
        }
    )


def _groups_reasons(groups: object) -> Reasons:
    if not isinstance(groups, list) or not groups:
        return [_("Must be a list of at least one group.")]
    if len(groups) > MAX_GROUPS:
        return [_("Has {count} groups; at most {max_groups} are allowed.", count=len(groups), max_groups=MAX_GROUPS)]
    return [f"Group {at}: {reason}" for at, group in enumerate(groups, 1) for reason in _group_reasons(group)]


def _group_reasons(group: object) -> Reasons:
    if not isinstance(group, Mapping) or not all(isinstance(text, str) for pair in group.items() for text in pair):
        return [_("must be an object of texts.")]
    if set(group) == {ALIAS_KEY}:
        fits = _ALIAS.fullmatch(group[ALIAS_KEY]) is not None
        return (
            []
            if fits
            else [
                _("{alias_key} is {group!r:.60}; it must be name:count.", alias_key=ALIAS_KEY, group=group[ALIAS_KEY])
            ]
        )
    if AMOUNT_KEY not in group:
        return [
            _(
                "must have either {alias_key} alone, or {amount_key} and traits.",
                alias_key=ALIAS_KEY,
                amount_key=AMOUNT_KEY,
            )
        ]
    reasons = []
    amount = group[AMOUNT_KEY]
    if not amount.isascii() or not amount.isdigit() or not 1 <= int(amount) <= MAX_COUNT:
        reasons.append(
            _(
                "{amount_key} is {amount!r:.60}; it must be a number from 1 to {max_count}.",
                amount_key=AMOUNT_KEY,
                amount=amount,
                max_count=MAX_COUNT,
            )
        )
    for key, value in group.items():
        if key != AMOUNT_KEY and (_TRAIT.fullmatch(key) is None or value not in ("required", "forbidden")):
            reasons.append(
                _("{key!r:.80}: {value!r:.40} is not a trait that is required or forbidden.", key=key, value=value)
            )
    return reasons


def device_profile_expanded(extra_specs: Mapping[str, str], groups: Sequence[DeviceGroup]) -> dict[str, str]:
    """The flavor's extra specs with what the profile says: its aliases beside the flavor's own, and for each of its
    groups of virtual GPUs a group of resources, which one card gives whole.
    """
    specs = dict(extra_specs)
    aliases = [specs.get(ALIAS_KEY, ""), *(group[ALIAS_KEY] for group in groups if ALIAS_KEY in group)]
    if joined := ",".join(text for text in aliases if text):
        specs[ALIAS_KEY] = joined
    for at, group in enumerate(groups):
        if ALIAS_KEY in group:
            continue
        for key, value in group.items():
            kind, _, rest = key.partition(":")
            specs[f"{kind}_accel{at}:{rest}"] = value
        # Several groups may be served by one card, unless the flavor says otherwise.
        specs.setdefault(POLICY_KEY, "none")
    return specs
