"""What the record of an image may say."""

import re
from collections.abc import Mapping

from servers.domain.extra_specs import KEY, trait_refusal
from servers.domain.fields import (
    Problems,
    Reasons,
    name_reasons,
    problems_found,
    text_reasons,
    whole_number_reasons,
)
from servers.domain.images import ContainerFormat, DiskFormat, Visibility

PROPERTIES_MAX = 128
PROPERTY_MAX_CHARS = 4096
SHA256 = re.compile(r"[0-9a-f]{64}")

PROPERTY_WORDS: dict[str, frozenset[str]] = {
    "hw_cpu_policy": frozenset({"dedicated", "shared", "mixed"}),
    "hw_cpu_thread_policy": frozenset({"prefer", "isolate", "require"}),
    "hw_disk_bus": frozenset({"ide", "sata", "scsi", "usb", "virtio", "fdc"}),
    "hw_firmware_type": frozenset({"bios", "uefi"}),
    "hw_vif_model": frozenset({"e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139", "virtio", "vmxnet3"}),
    "os_secure_boot": frozenset({"disabled", "optional", "required"}),
}
"""Properties whose value is one of few words. Those not listed are the owner's own and kept as they are."""


def property_reasons(properties: object) -> Reasons:
    """At most PROPERTIES_MAX text values; `trait:<name>` can only be `required`."""
    if not isinstance(properties, Mapping):
        return ["Must be an object of text values."]
    reasons = []
    if len(properties) > PROPERTIES_MAX:
        reasons.append(f"Has {len(properties)} items; at most {PROPERTIES_MAX} are allowed.")
    for key, value in list(properties.items())[:PROPERTIES_MAX]:
        reasons += _pair_reasons(key, value)
    return reasons


def _pair_reasons(key: object, value: object) -> Reasons:
    if not isinstance(key, str) or not KEY.fullmatch(key):
        return [f"Key {key!r:.80}: 1 to 255 letters, digits, spaces or any of - _ : . are allowed."]
    bad_text = text_reasons(value, most=PROPERTY_MAX_CHARS)
    if bad_text or not isinstance(value, str):
        return [f"{key}: {reason}" for reason in bad_text]
    if key.startswith("trait:"):
        refusal = trait_refusal(key.removeprefix("trait:"), value, allowed=("required",))
        return [f"{key}: {refusal}"] if refusal else []
    words = PROPERTY_WORDS.get(key)
    if words is None or value in words:
        return []
    return [f"{key}: is {value!r:.80}; it must be one of {', '.join(sorted(words))}."]


def _word_reasons(value: object, words: type[DiskFormat] | type[ContainerFormat] | type[Visibility]) -> Reasons:
    allowed = [word.value for word in words]
    return [] if value in allowed else [f"Is {value!r:.80}; it must be one of {', '.join(allowed)}."]


def checksum_reasons(checksum: object) -> Reasons:
    """SHA-256 in lower-case hexadecimal."""
    is_fine = isinstance(checksum, str) and SHA256.fullmatch(checksum) is not None
    return [] if is_fine else ["Must be a SHA-256 checksum: 64 hexadecimal digits in lower case."]


def image_problems(fields: Mapping[str, object]) -> Problems:
    """Everything that is wrong with these fields of an image, by field. Fields that are not there are not judged."""
    found: dict[str, Reasons] = {}
    if "name" in fields:
        found["name"] = name_reasons(fields["name"])
    for field, words in (
        ("disk_format", DiskFormat),
        ("container_format", ContainerFormat),
        ("visibility", Visibility),
    ):
        if field in fields:
            found[field] = _word_reasons(fields[field], words)
    for size in ("min_disk_gib", "min_ram_mib"):
        if size in fields:
            found[size] = whole_number_reasons(fields[size], least=0)
    if "properties" in fields:
        found["properties"] = property_reasons(fields["properties"])
    if fields.get("expected_sha256"):
        found["expected_sha256"] = checksum_reasons(fields["expected_sha256"])
    return problems_found(found)
