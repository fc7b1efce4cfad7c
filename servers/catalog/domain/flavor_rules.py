"""What a flavor may be."""

from collections.abc import Mapping

from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.extra_specs import extra_spec_problems, flavor_extra_spec_problems
from servers.fields import Problems, name_reasons, problems_found, text_reasons, whole_number_reasons
from servers.keyed_text import under_field

MINIMUM = {"vcpus": 1, "memory_mib": 1, "root_gib": 0, "ephemeral_gib": 0, "swap_mib": 0}
"""The smallest value of each size."""
JUDGED_TOGETHER = ("extra_specs", "vcpus", "memory_mib")
"""Fields that extra specs are held against."""


def flavor_problems(fields: Mapping[str, object], *, stored: Mapping[str, object] | None = None) -> Problems:
    """What is wrong with these fields of a flavor, by field; extra specs by key: `extra_specs.hw:cpu_policy`.

    Fields that are not there are not judged. With the `stored` fields of a flavor that is edited, extra specs are held
    against what it will be, and what was wrong with it before, under rules that came later, does not stop the edit.
    """
    found = {
        size: whole_number_reasons(fields[size], minimum=minimum) for size, minimum in MINIMUM.items() if size in fields
    }
    if "name" in fields:
        found["name"] = name_reasons(fields["name"])
    if "description" in fields:
        found["description"] = text_reasons(fields["description"], maximum=1000)
    for flag in ("is_public", "disabled"):
        if flag in fields and not isinstance(fields[flag], bool):
            found[flag] = [_("Must be true or false.")]
    if any(field in fields for field in JUDGED_TOGETHER):
        found |= under_field("extra_specs", _new_spec_problems(fields, stored or {}))
    return problems_found(found)


def _new_spec_problems(fields: Mapping[str, object], stored: Mapping[str, object]) -> Problems:
    before = _spec_problems(stored)
    after = _spec_problems({**stored, **fields})
    return {key: [reason for reason in reasons if reason not in before.get(key, ())] for key, reasons in after.items()}


def _spec_problems(fields: Mapping[str, object]) -> Problems:
    specs, vcpus, memory_mib = (fields.get(field) for field in JUDGED_TOGETHER)
    if specs is None and "extra_specs" not in fields:
        return {}
    if isinstance(vcpus, int) and isinstance(memory_mib, int) and vcpus >= 1 and memory_mib >= 1:
        return flavor_extra_spec_problems(specs, vcpus=vcpus, memory_mib=memory_mib)
    return extra_spec_problems(specs)
