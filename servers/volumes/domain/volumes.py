"""What a volume may be: its request, and the rules of sizes, names and metadata. Sizes are in GiB."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from computeagent.protocol.volumes import NO_QOS, VolumeQos, VolumeSourceKind
from controlplane.kernel.texts import phrase as _
from servers.fields import INTEGER_MAX, Problems, Reasons, is_storable, problems_found, text_reasons
from servers.fields import whole_number_reasons as number_reasons

GIB = 2**30
MAX_METADATA = 128
"""Items that a volume or snapshot may have, as Nova allows an instance."""
QOS_LIMITS = tuple(each.name for each in fields(VolumeQos))


@dataclass(frozen=True, slots=True)
class VolumeRequest:
    """A volume that is wanted. `size_gib` None: as large as its source needs.

    `volume_type`: name or id; empty for that of the source, and else the default one. `pool`: name or id, for
    administrators. `availability_zone`: where the pool's host has to be. Whether it is encrypted, or may be several
    instances' at a time, its type says.
    """

    size_gib: int | None = None
    name: str = ""
    description: str = ""
    volume_type: str = ""
    source_kind: VolumeSourceKind = VolumeSourceKind.BLANK
    source_id: uuid.UUID | None = None
    availability_zone: str = ""
    pool: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    is_read_only: bool = False
    id: uuid.UUID = field(default_factory=uuid.uuid4)


@dataclass(frozen=True, slots=True)
class TypeRules:
    """What a volume's type says of sizes and limits. A largest size of 0 is no limit."""

    name: str = ""
    min_gib: int = 0
    max_gib: int = 0
    qos: Mapping[str, int] = field(default_factory=dict)
    qos_per_gib: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What the source of a volume needs: `min_gib` of room, for a reason that is said (`words`)."""

    min_gib: int = 0
    words: str = ""


NO_SOURCE_FACTS = SourceFacts()


def gib_of(size_bytes: int) -> int:
    """How many GiB hold so many bytes."""
    return -(-size_bytes // GIB)


def volume_problems(request: VolumeRequest) -> Problems:
    """What is wrong with a request on its own, by field."""
    return problems_found(
        {
            "size_gib": size_asked_reasons(request),
            "name": text_reasons(request.name, maximum=255),
            "description": text_reasons(request.description, maximum=255),
            "metadata": metadata_reasons(request.metadata),
            "availability_zone": text_reasons(request.availability_zone, maximum=255),
            "source_id": source_reasons(request),
        }
    )


def size_asked_reasons(request: VolumeRequest) -> Reasons:
    """A blank volume has no size but the one that is asked for."""
    if request.size_gib is None:
        is_blank = request.source_kind is VolumeSourceKind.BLANK
        return [_("A volume that begins with nothing needs a size in GiB.")] if is_blank else []
    return number_reasons(request.size_gib, minimum=1)


def source_reasons(request: VolumeRequest) -> Reasons:
    """Every source but none has an id."""
    is_blank = request.source_kind is VolumeSourceKind.BLANK
    if is_blank and request.source_id is not None:
        return [_("A blank volume has no source.")]
    if not is_blank and request.source_id is None:
        return [_("Name the {source_kind} that it begins with.", source_kind=request.source_kind.value)]
    return []


def metadata_reasons(metadata: object) -> Reasons:
    """Text of at most 255 characters under keys of 1 to 255, as Cinder has it."""
    if not isinstance(metadata, Mapping):
        return [_("Must be an object of texts.")]
    reasons = []
    if len(metadata) > MAX_METADATA:
        reasons.append(
            _("Has {count} items; at most {max_metadata} are allowed.", count=len(metadata), max_metadata=MAX_METADATA)
        )
    for key, value in metadata.items():
        if not isinstance(key, str) or not 1 <= len(key) <= 255 or not is_storable(key):
            reasons.append(_("The key {key!r:.60} must be text of 1 to 255 characters.", key=key))
        elif not isinstance(value, str) or len(value) > 255 or not is_storable(value):
            reasons.append(_("What {key!r:.60} has must be text of at most 255 characters.", key=key))
    return reasons[:5]


def size_chosen(asked: int | None, source: SourceFacts) -> int:
    """The size that the volume will have."""
    return max(source.min_gib, 1) if asked is None else asked


def size_problems(size_gib: int, *, rules: TypeRules, source: SourceFacts = NO_SOURCE_FACTS) -> Problems:
    """What the source, the type and the database have against a size."""
    reasons = number_reasons(size_gib, minimum=1, maximum=INTEGER_MAX)
    if size_gib < source.min_gib:
        reasons.append(
            _(
                "Is {size_gib} GiB; {source} needs {min_gib}.",
                size_gib=size_gib,
                source=source.words,
                min_gib=source.min_gib,
            )
        )
    if rules.min_gib and size_gib < rules.min_gib:
        reasons.append(
            _(
                "Is {size_gib} GiB; volumes of type {rules} have at least {min_gib}.",
                size_gib=size_gib,
                rules=rules.name,
                min_gib=rules.min_gib,
            )
        )
    if rules.max_gib and size_gib > rules.max_gib:
        reasons.append(
            _(
                "Is {size_gib} GiB; volumes of type {rules} have at most {max_gib}.",
                size_gib=size_gib,
                rules=rules.name,
                max_gib=rules.max_gib,
            )
        )
    return problems_found({"size_gib": reasons})


def extend_problems(size_gib: object, *, now_gib: int, rules: TypeRules) -> Problems:
    """A volume grows, and never shrinks."""
    reasons = number_reasons(size_gib, minimum=1)
    if reasons or not isinstance(size_gib, int):
        return problems_found({"size_gib": reasons})
    if size_gib <= now_gib:
        return {
            "size_gib": [
                _("Is {size_gib} GiB; the volume has {now_gib}, and it only grows.", size_gib=size_gib, now_gib=now_gib)
            ]
        }
    return size_problems(size_gib, rules=rules)


def qos_of(rules: TypeRules, size_gib: int) -> VolumeQos:
    """The limits of a volume of this type and size: those of the type, and so much more for each GiB."""
    if not rules.qos and not rules.qos_per_gib:
        return NO_QOS
    return VolumeQos(
        **{name: rules.qos.get(name, 0) + rules.qos_per_gib.get(name, 0) * size_gib for name in QOS_LIMITS}
    )
