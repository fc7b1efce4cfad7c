"""What the editors of extra specs, image properties and limits of volume types know of the keys."""

from controlplane.infra.admin.pairs import KnownKey, Plain, Vocabulary, vocabulary_of
from controlplane.kernel.texts import gettext_noop
from servers.catalog.domain.device_profiles import ALIAS_KEY, AMOUNT_KEY, MAX_COUNT
from servers.catalog.domain.extra_specs.rules import KeyRule
from servers.catalog.domain.extra_specs.table import EXTRA_SPEC_RULES, extra_spec_complaint, rule_of
from servers.images.domain.image_properties.table import PROPERTY_RULES, property_complaint, property_rule
from servers.instances.domain.not_provided import flavor_refusals, image_refusals
from servers.volumes.domain.volumes import QOS_LIMITS


def _known(rule: KeyRule) -> KnownKey:
    return KnownKey(rule.key, Plain(rule.meaning), rule.allowed, rule.is_family)


def _extra_spec(key: str) -> KnownKey | None:
    rule = rule_of(key)
    return _known(rule) if rule else None


def _property(key: str) -> KnownKey | None:
    rule = property_rule(key)
    return _known(rule) if rule else None


EXTRA_SPECS = Vocabulary(
    [_known(rule) for rule in EXTRA_SPEC_RULES],
    _extra_spec,
    extra_spec_complaint,
    gettext_noop("This key is not in the table: it is kept as it is, and only host aggregates may look at it."),
    lambda key, value: "".join(flavor_refusals({key: value})),
)
IMAGE_PROPERTIES = Vocabulary(
    [_known(rule) for rule in PROPERTY_RULES],
    _property,
    property_complaint,
    gettext_noop("This property is not in the table: it is kept as it is, and has no effect here."),
    lambda key, value: "".join(image_refusals({key: value})),
)


_LIMITS = {
    "total_iops": gettext_noop("Operations a second of both directions together."),
    "read_iops": gettext_noop("Operations a second that are read."),
    "write_iops": gettext_noop("Operations a second that are written."),
    "total_bytes": gettext_noop("Bytes a second of both directions together."),
    "read_bytes": gettext_noop("Bytes a second that are read."),
    "write_bytes": gettext_noop("Bytes a second that are written."),
}
_LIMIT = Plain(gettext_noop("a whole number; 0 is no limit"))
QOS = vocabulary_of(
    [KnownKey(name, Plain(_LIMITS[name]), _LIMIT) for name in QOS_LIMITS], gettext_noop("There is no such limit.")
)
DEVICE_GROUP_KEYS = vocabulary_of(
    [
        KnownKey(
            ALIAS_KEY,
            Plain(gettext_noop("PCI devices, by the alias that hosts are set up with.")),
            Plain(gettext_noop("name:count")),
        ),
        KnownKey(
            AMOUNT_KEY,
            Plain(gettext_noop("Virtual GPUs.")),
            Plain(gettext_noop("a number from 1 to {most}"), {"most": MAX_COUNT}),
        ),
        KnownKey(
            "trait:NAME",
            Plain(gettext_noop("What the card must have, or must not.")),
            Plain(gettext_noop("required or forbidden")),
            is_family=True,
        ),
    ],
    gettext_noop("A trait of the card: required or forbidden."),
)
