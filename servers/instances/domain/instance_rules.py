"""What a request for instances may say. Sources: Nova's server schema and its limits."""

import base64
import binascii
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from computeagent.protocol.names import HOSTNAME_MAX_CHARS, hostname_from_name
from controlplane.kernel.texts import phrase as _
from scheduling.domain.zone_names import zone_name_problem
from servers.fields import Problems, Reasons, name_reasons, problems_found, text_reasons, whole_number_reasons

METADATA_MAX_ITEMS = 1000
"""What a row bears; a project's quota says how many it may have."""
TAGS_MAX = 50
TAG_MAX_CHARS = 60
USER_DATA_MAX_CHARS = 65535
COUNT_MAX = 10_000

_METADATA_KEY = re.compile(r"[a-zA-Z0-9\-_:. ]{1,255}")
_HOST_LABEL = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?")
_HOST_PART = re.compile(r"[^\s:/]{0,255}")


@dataclass(frozen=True, slots=True)
class ZoneRequest:
    """What `availability_zone` asks for: a zone, and for admins a host or node. Empty means any."""

    zone: str = ""
    host: str = ""
    node: str = ""

    @property
    def is_forced(self) -> bool:
        """Whether it names a host or node, which is for admins."""
        return bool(self.host or self.node)


def zone_parse(text: str) -> tuple[ZoneRequest, Reasons]:
    """`zone`, `zone:host`, `zone:host:node` or `zone::node`, as Nova reads it. The zone may be empty."""
    parts = text.split(":")
    if len(parts) > 3:
        return ZoneRequest(), [_("Is {text!r:.80}; the form is zone, zone:host or zone:host:node.", text=text)]
    if parts[0] and (problem := zone_name_problem(parts[0])):
        return ZoneRequest(), [problem]
    if not all(_HOST_PART.fullmatch(part) and part.isprintable() for part in parts[1:]):
        return ZoneRequest(), [_("Host and node are at most 255 printable characters without spaces or slashes.")]
    zone = ZoneRequest(*parts)
    if len(parts) > 1 and not zone.is_forced:
        return ZoneRequest(), [_("Is {text!r:.80}; after the colon a host or node must follow.", text=text)]
    return zone, []


def metadata_reasons(metadata: object) -> Reasons:
    """At most METADATA_MAX_ITEMS pairs; keys of Nova's characters; values are text of at most 255 characters."""
    if not isinstance(metadata, Mapping):
        return [_("Must be an object of text values.")]
    reasons = []
    if len(metadata) > METADATA_MAX_ITEMS:
        reasons.append(
            _(
                "Has {count} items; at most {metadata_max_items} are allowed.",
                count=len(metadata),
                metadata_max_items=METADATA_MAX_ITEMS,
            )
        )
    for key, value in list(metadata.items())[:METADATA_MAX_ITEMS]:
        if not isinstance(key, str) or not _METADATA_KEY.fullmatch(key):
            reasons.append(
                _("Key {key!r:.80}: 1 to 255 letters, digits, spaces or any of - _ : . are allowed.", key=key)
            )
        reasons += [f"Value of {key!r:.80}: {reason}" for reason in text_reasons(value, maximum=255)]
    return reasons


def tags_reasons(tags: object) -> Reasons:
    """At most TAGS_MAX tags of 1 to TAG_MAX_CHARS printable characters without slash and comma."""
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        return [_("Must be a list of texts.")]
    reasons = (
        [_("Has {count} tags; at most {tags_max} are allowed.", count=len(tags), tags_max=TAGS_MAX)]
        if len(tags) > TAGS_MAX
        else []
    )
    for tag in tags[:TAGS_MAX]:
        reasons += [f"Tag {tag!r:.80}: {reason}" for reason in name_reasons(tag, maximum=TAG_MAX_CHARS)]
        if isinstance(tag, str) and ("/" in tag or "," in tag):
            reasons.append(_("Tag {tag!r:.80}: must not contain a slash or a comma.", tag=tag))
    return reasons


def user_data_reasons(user_data: object) -> Reasons:
    """Base64 (line breaks allowed, which are dropped), of at most USER_DATA_MAX_CHARS characters without them."""
    if not isinstance(user_data, str):
        return [_("Must be base64 text.")]
    encoded = "".join(user_data.split())
    if len(encoded) > USER_DATA_MAX_CHARS:
        return [
            _(
                "Has {count} characters of base64; at most {user_data_max_chars} are allowed.",
                count=len(encoded),
                user_data_max_chars=USER_DATA_MAX_CHARS,
            )
        ]
    try:
        base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return [_("Is not base64.")]
    return []


ALL_OR_NOTHING, BEST_EFFORT = "all_or_nothing", "best_effort"


def batch_reasons(batch: object) -> Reasons:
    """What becomes of a batch when there is not room for all of it: nothing, or as many as fit, min_count at least."""
    if batch in (ALL_OR_NOTHING, BEST_EFFORT):
        return []
    return [_("Is one of {all_or_nothing}, {best_effort}.", all_or_nothing=ALL_OR_NOTHING, best_effort=BEST_EFFORT)]


def count_problems(min_count: object, max_count: object) -> Problems:
    """1 <= min_count <= max_count <= COUNT_MAX; no `max_count`, None, is as many as `min_count`."""
    problems = problems_found(
        {
            "min_count": whole_number_reasons(min_count, minimum=1, maximum=COUNT_MAX),
            "max_count": [] if max_count is None else whole_number_reasons(max_count, minimum=1, maximum=COUNT_MAX),
        }
    )
    if not problems and isinstance(min_count, int) and isinstance(max_count, int) and max_count < min_count:
        problems["max_count"] = [
            _("Is {max_count}, less than min_count, which is {min_count}.", max_count=max_count, min_count=min_count)
        ]
    return problems


def hostname_reasons(hostname: object) -> Reasons:
    """One label of a host name (RFC 1123)."""
    if not isinstance(hostname, str) or not _HOST_LABEL.fullmatch(hostname):
        return [_("1 to 63 letters, digits and hyphens are allowed, with a letter or digit at both ends.")]
    return []


def instance_problems(
    *,
    name: object,
    metadata: object,
    tags: object,
    user_data: object,
    min_count: object,
    max_count: object,
    hostname: object = "",
    description: object = "",
    availability_zone: str = "",
) -> Problems:
    """Everything that is wrong with the text of a create request, by field; what it names is not looked up."""
    found = {
        "name": name_reasons(name),
        "metadata": metadata_reasons(metadata),
        "tags": tags_reasons(tags),
        "user_data": user_data_reasons(user_data) if user_data else [],
        "hostname": hostname_reasons(hostname) if hostname else [],
        "description": text_reasons(description, maximum=255),
        "availability_zone": zone_parse(availability_zone)[1],
    }
    return problems_found(found) | count_problems(min_count, max_count)


def instance_names(name: str, count: int) -> list[str]:
    """`name` for one, `name-1` to `name-N` for a batch, as Nova numbers them; each at most 255 characters."""
    if count == 1:
        return [name]
    suffixes = [f"-{index}" for index in range(1, count + 1)]
    return [name[: 255 - len(suffix)] + suffix for suffix in suffixes]


def hostname_in_batch(name: str, instance_uuid: str, index: int, count: int) -> str:
    """The host name of one of a batch: made of the batch's name, with its number where there are several."""
    label = hostname_from_name(name, instance_uuid)
    if count == 1 or label.endswith(instance_uuid):
        return label
    suffix = f"-{index + 1}"
    return label[: HOSTNAME_MAX_CHARS - len(suffix)].rstrip("-") + suffix


def image_fit_problems(
    *,
    min_ram_mib: int,
    min_disk_gib: int,
    size_bytes: int,
    virtual_size_bytes: int,
    flavor_memory_mib: int,
    flavor_root_gib: int,
) -> Problems:
    """Whether a flavor is big enough for an image. A root disk of 0 GiB takes the image's own size and always fits."""
    problems: Problems = {}
    if flavor_memory_mib < min_ram_mib:
        problems["flavor"] = [
            _(
                "Has {flavor_memory_mib} MiB of memory; the image needs at least {min_ram_mib} MiB.",
                flavor_memory_mib=flavor_memory_mib,
                min_ram_mib=min_ram_mib,
            )
        ]
    if flavor_root_gib:
        disk = _disk_reasons(min_disk_gib, max(size_bytes, virtual_size_bytes), flavor_root_gib)
        if disk:
            problems.setdefault("flavor", []).extend(disk)
    return problems


def _disk_reasons(min_disk_gib: int, image_bytes: int, root_gib: int) -> Reasons:
    if root_gib < min_disk_gib:
        return [
            _(
                "Has a root disk of {root_gib} GiB; the image needs at least {min_disk_gib} GiB.",
                root_gib=root_gib,
                min_disk_gib=min_disk_gib,
            )
        ]
    if image_bytes > root_gib * 2**30:
        return [
            _(
                "Has a root disk of {root_gib} GiB; the image's disk is {image_gib:.1f} GiB, {more_bytes} bytes more.",
                root_gib=root_gib,
                image_gib=image_bytes / 2**30,
                more_bytes=image_bytes - root_gib * 2**30,
            )
        ]
    return []


def new_mac() -> str:
    """A random MAC address in the range that OpenStack's guests use (fa:16:3e)."""
    return ":".join(["fa", "16", "3e", *(f"{byte:02x}" for byte in secrets.token_bytes(3))])
