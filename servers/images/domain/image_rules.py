"""What the record of an image may say."""

import re
from collections.abc import Mapping

from controlplane.kernel.texts import phrase as _
from servers.fields import Problems, Reasons, name_reasons, problems_found, whole_number_reasons
from servers.images.domain.image_properties import image_property_problems
from servers.images.domain.images import ContainerFormat, DiskFormat, Visibility
from servers.keyed_text import under_field

SHA256 = re.compile(r"[0-9a-fA-F]{64}")
TAGS_MAX = 128


def _word_reasons(value: object, words: type[DiskFormat] | type[ContainerFormat] | type[Visibility]) -> Reasons:
    allowed = [word.value for word in words]
    return (
        []
        if value in allowed
        else [_("Is {value!r:.80}; it must be one of {allowed}.", value=value, allowed=", ".join(allowed))]
    )


def checksum_reasons(checksum: object) -> Reasons:
    """SHA-256 in hexadecimal; it is kept in lower case."""
    is_fine = isinstance(checksum, str) and SHA256.fullmatch(checksum) is not None
    return [] if is_fine else [_("Must be a SHA-256 checksum: 64 hexadecimal digits.")]


def tags_reasons(tags: object) -> Reasons:
    """At most TAGS_MAX words of 1 to 255 printable characters."""
    if not isinstance(tags, list | tuple):
        return [_("Must be a list of words.")]
    if len(set(map(str, tags))) > TAGS_MAX:
        return [_("Has {count} words; at most {tags_max} are allowed.", count=len(tags), tags_max=TAGS_MAX)]
    return [f"{tag!r:.80}: {reason}" for tag in tags for reason in name_reasons(tag)]


def image_problems(fields: Mapping[str, object], *, stored_properties: object = None) -> Problems:
    """Everything that is wrong with these fields of an image, by field; properties by name: `properties.hw_disk_bus`.

    Fields that are not there are not judged. What was wrong with the `stored_properties` of an image that is edited,
    under rules that came later, does not stop the edit.
    """
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
            found[size] = whole_number_reasons(fields[size], minimum=0)
    if "properties" in fields:
        found |= under_field("properties", _new_property_problems(fields["properties"], stored_properties))
    if "tags" in fields:
        found["tags"] = tags_reasons(fields["tags"])
    if fields.get("expected_sha256"):
        found["expected_sha256"] = checksum_reasons(fields["expected_sha256"])
    return problems_found(found)


def _new_property_problems(properties: object, stored: object) -> Problems:
    before = image_property_problems(stored) if stored else {}
    after = image_property_problems(properties)
    return {key: [reason for reason in reasons if reason not in before.get(key, ())] for key, reasons in after.items()}
