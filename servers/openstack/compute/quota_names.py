"""Quotas by Nova's names, which differ a little from ours, and which of them each microversion has."""

from collections.abc import Mapping

OURS = {"ram": "ram_mib"}
"""Of those that are called otherwise here."""
FIXED_IPS = "fixed_ips"
"""Nova's own networks counted these; here nothing limits them."""
NO_LIMIT = -1

_INSTANCES = ("cores", "instances", "key_pairs", "metadata_items", "ram")
_FILES = ("injected_file_content_bytes", "injected_file_path_bytes", "injected_files")
_GROUPS = ("server_group_members", "server_groups")
NETWORKS_COUNTED = ("floating_ips", "security_group_rules", "security_groups")
_NETWORKS = (FIXED_IPS, *NETWORKS_COUNTED)

NETWORKS_UNTIL = 35
CLASS_NETWORKS_UNTIL = 49
FILES_UNTIL = 56


def quota_names(minor: int) -> tuple[str, ...]:
    """What a quota set has."""
    networks = _NETWORKS if minor <= NETWORKS_UNTIL else ()
    return (*_INSTANCES, *_GROUPS, *networks, *(_FILES if minor <= FILES_UNTIL else ()))


def quota_class_names(minor: int) -> tuple[str, ...]:
    """What a quota class has: groups since 2.50, and networks until then."""
    others = _NETWORKS if minor <= CLASS_NETWORKS_UNTIL else _GROUPS
    return (*_INSTANCES, *others, *(_FILES if minor <= FILES_UNTIL else ()))


def amounts_by_nova(names: tuple[str, ...], ours: Mapping[str, int], *, missing: int = NO_LIMIT) -> dict[str, int]:
    """These of our amounts by Nova's names."""
    return {name: ours.get(OURS.get(name, name), missing) for name in names}


def amounts_by_us(asked: Mapping[str, int]) -> dict[str, int]:
    """The other way, without what nothing limits here."""
    return {OURS.get(name, name): amount for name, amount in asked.items() if name != FIXED_IPS}
