"""What a flavor may be."""

from collections.abc import Mapping

from servers.domain.extra_specs import extra_spec_reasons
from servers.domain.fields import Problems, name_reasons, problems_found, text_reasons, whole_number_reasons

LEAST = {"vcpus": 1, "memory_mib": 1, "root_gib": 0, "ephemeral_gib": 0, "swap_mib": 0}
"""The smallest value of each size."""


def flavor_problems(fields: Mapping[str, object]) -> Problems:
    """Everything that is wrong with these fields of a flavor, by field. Fields that are not there are not judged."""
    found = {size: whole_number_reasons(fields[size], least=least) for size, least in LEAST.items() if size in fields}
    if "name" in fields:
        found["name"] = name_reasons(fields["name"])
    if "description" in fields:
        found["description"] = text_reasons(fields["description"], most=1000)
    if "extra_specs" in fields:
        found["extra_specs"] = extra_spec_reasons(fields["extra_specs"])
    for flag in ("is_public", "disabled"):
        if flag in fields and not isinstance(fields[flag], bool):
            found[flag] = ["Must be true or false."]
    return problems_found(found)
