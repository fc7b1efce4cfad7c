"""What a volume type may be: pure rules. A type says where its volumes may be, what they can do, and how fast."""

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from computeagent.protocol.volumes import PoolKind
from controlplane.kernel.texts import Phrase, any_of, gettext_noop
from controlplane.kernel.texts import phrase as _
from servers.fields import INTEGER_MAX, Problems, Reasons, name_reasons, problems_found, text_reasons
from servers.fields import whole_number_reasons as number_reasons
from servers.volumes.domain.states import VolumeState
from servers.volumes.domain.volumes import QOS_LIMITS

QOS_MAX = 2**53
"""What every JSON reader takes for a whole number."""
OF_VOLUMES = ("is_encrypted", "is_multiattach")
"""What volumes of a type are by it, so that it does not change while there are any."""


@dataclass(frozen=True, slots=True)
class VolumeTypeRequest:
    """A type that is wanted, or how one will be. `pools` are names of pools and `kinds` kinds of pools; empty: any."""

    name: str
    description: str = ""
    is_public: bool = True
    is_default: bool = False
    pools: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    is_encrypted: bool = False
    is_multiattach: bool = False
    qos: Mapping[str, int] = field(default_factory=dict)
    qos_per_gib: Mapping[str, int] = field(default_factory=dict)
    min_gib: int = 0
    max_gib: int = 0
    id: uuid.UUID = field(default_factory=uuid.uuid4)


def volume_type_problems(request: VolumeTypeRequest) -> Problems:
    """What is wrong with a type, by field."""
    known = {kind.value for kind in PoolKind}
    of_qos, of_qos_per_gib = qos_reasons(request.qos), qos_reasons(request.qos_per_gib)
    both = () if of_qos or of_qos_per_gib else (request.qos, request.qos_per_gib)
    set_anywhere = {name for limits in both for name, value in limits.items() if value}
    return problems_found(
        {
            "name": name_reasons(request.name),
            "description": text_reasons(request.description, maximum=255),
            "pools": [reason for one in request.pools for reason in name_reasons(one, maximum=64)][:3],
            "kinds": [
                _("{one!r:.40} is none of {known}.", one=one, known=", ".join(sorted(known)))
                for one in request.kinds
                if one not in known
            ],
            "is_default": [_("All projects get it who ask for no type, so it must be public.")]
            if request.is_default and not request.is_public
            else [],
            "is_multiattach": [_("An encrypted volume is one instance's only, as in Cinder.")]
            if request.is_encrypted and request.is_multiattach
            else [],
            "qos": of_qos,
            "qos_per_gib": of_qos_per_gib or _mixed_reasons(set_anywhere),
            "min_gib": number_reasons(request.min_gib, minimum=0),
            "max_gib": max_reasons(request.min_gib, request.max_gib),
        }
    )


def qos_reasons(qos: object) -> Reasons:
    """Whole numbers by the names of `VolumeQos`; a total excludes its halves, as the hypervisor has it."""
    if not isinstance(qos, Mapping):
        return [_("Must be an object of numbers.")]
    if unknown := [name for name in qos if name not in QOS_LIMITS]:
        return [_("{unknown!r:.40} is none of {qos_limits}.", unknown=unknown[0], qos_limits=", ".join(QOS_LIMITS))]
    reasons: Reasons = []
    for name, value in qos.items():
        reasons += [f"{name}: {reason}" for reason in number_reasons(value, minimum=0, maximum=QOS_MAX)]
    return reasons or _mixed_reasons({name for name, value in qos.items() if value})


def _mixed_reasons(limited: Collection[str]) -> Reasons:
    return [
        _("total_{unit} cannot stand beside read_{unit} or write_{unit}.", unit=unit)
        for unit in ("iops", "bytes")
        if f"total_{unit}" in limited and not {f"read_{unit}", f"write_{unit}"}.isdisjoint(limited)
    ]


def max_reasons(min_gib: int, max_gib: int) -> Reasons:
    """0 is no limit; else it is no less than the smallest size."""
    reasons = number_reasons(max_gib, minimum=0, maximum=INTEGER_MAX)
    if not reasons and 0 < max_gib < min_gib:
        reasons = [_("Is {max_gib}; the smallest size is {min_gib}.", max_gib=max_gib, min_gib=min_gib)]
    return reasons


@dataclass(frozen=True, slots=True)
class RetypeFacts:
    """A volume and the type that it is to get. `fits`: its pool is one of the type's. `snapshots`: how many it has."""

    name: str
    type_name: str
    is_same: bool
    state: VolumeState
    is_encrypted: bool
    becomes_encrypted: bool
    is_multiattach: bool
    becomes_multiattach: bool
    fits: bool
    may_move: bool
    snapshots: int = 0
    left_pool: str = ""

    @property
    def changes_sharing(self) -> bool:
        """Whether several instances may have it from now on, or one alone."""
        return self.is_multiattach != self.becomes_multiattach


_OTHER_ENCRYPTION = {
    True: gettext_noop(
        "{named} is not encrypted, and volumes of type {type_name} are encrypted: "
        "make an image of it, and a volume of that type of the image."
    ),
    False: gettext_noop(
        "{named} is encrypted, and volumes of type {type_name} are not encrypted: "
        "copy its bytes in a guest that has both."
    ),
}
"""By what the volume would become."""


def retype_refusal(facts: RetypeFacts) -> tuple[str, str]:
    """The field that is to blame, and why the volume does not get the type; empty where it can."""
    named, moves = _("Volume {name}", name=facts.name), not facts.fits
    at_rest = {VolumeState.AVAILABLE} if moves or facts.changes_sharing else {VolumeState.AVAILABLE, VolumeState.IN_USE}
    why_at_rest = _("to be copied into another pool") if moves else _("to be given to several, or to one alone")
    rules = (
        (
            facts.is_same,
            "volume_type",
            _("{named} is of type {type_name} already.", named=named, type_name=facts.type_name),
        ),
        (
            facts.is_encrypted != facts.becomes_encrypted,
            "volume_type",
            Phrase(_OTHER_ENCRYPTION[facts.becomes_encrypted], named=named, type_name=facts.type_name),
        ),
        (
            moves and not facts.may_move,
            "volume_type",
            _(
                "{named} is in a pool where no volume of type {type_name} is: say that it may be moved.",
                named=named,
                type_name=facts.type_name,
            ),
        ),
        (
            facts.state not in at_rest,
            "state",
            _(
                "{named} is {state}: it must be available {why_at_rest}.",
                named=named,
                state=facts.state,
                why_at_rest=why_at_rest,
            )
            if facts.state is VolumeState.IN_USE
            else _(
                "{named} is {state}: it must be {at_rest} for this.",
                named=named,
                state=facts.state,
                at_rest=any_of(sorted(at_rest)),
            ),
        ),
        (
            moves and facts.snapshots > 0,
            "state",
            _("{named} has {snapshots} snapshots, which stay in its pool.", named=named, snapshots=facts.snapshots),
        ),
        (
            moves and bool(facts.left_pool),
            "state",
            _("{named} has left another pool, where its bytes are being removed. Try again later.", named=named),
        ),
    )
    return next(((field, words) for is_wrong, field, words in rules if is_wrong), ("", ""))
