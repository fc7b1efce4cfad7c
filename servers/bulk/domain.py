"""The rules of bulk jobs: which actions there are for which things, what is asked before, which states items have."""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.kernel.texts import Translate, gettext_noop, in_english
from controlplane.kernel.texts import phrase as _
from servers.instances.actions.table import ACTIONS
from servers.instances.actions.volumes import DETACH_VOLUME

MAX_UNTYPED = 10
"""So many names can be read at a glance; above it a person types the action's name too."""


class BulkItemState(StrEnum):
    """waiting -> running -> done | failed; waiting -> cancelled; failed -> waiting, when what failed is tried again."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_ITEMS = (BulkItemState.WAITING.value, BulkItemState.RUNNING.value)


class BulkKind(StrEnum):
    """What the items of a job are."""

    INSTANCE = "instance"
    HOST = "host"
    VOLUME = "volume"
    IMAGE = "image"
    FLOATING_IP = "floating_ip"
    WORK = "work"


@dataclass(frozen=True, slots=True)
class BulkNoun:
    """A kind in words."""

    singular: str
    plural: str

    def counted(self, count: int, translate: Translate = in_english) -> str:
        """'1 volume', '2 volumes'."""
        things = translate(self.singular if count == 1 else self.plural)
        return translate(gettext_noop("{count} {things}")).format(count=count, things=things)


NOUNS: dict[BulkKind, BulkNoun] = {
    BulkKind.INSTANCE: BulkNoun(gettext_noop("instance"), gettext_noop("instances")),
    BulkKind.HOST: BulkNoun(gettext_noop("host"), gettext_noop("hosts")),
    BulkKind.VOLUME: BulkNoun(gettext_noop("volume"), gettext_noop("volumes")),
    BulkKind.IMAGE: BulkNoun(gettext_noop("image"), gettext_noop("images")),
    BulkKind.FLOATING_IP: BulkNoun(gettext_noop("floating address"), gettext_noop("floating addresses")),
    BulkKind.WORK: BulkNoun(gettext_noop("piece of work"), gettext_noop("pieces of work")),
}


@dataclass(frozen=True, slots=True)
class BulkRule:
    """One action for many things of one kind.

    `policy`: what a caller needs, for each item when its turn comes. `question`: what is asked first, of what destroys
    or interrupts. `takes_note`: a text goes with it, which stands with each of the things afterwards.
    """

    kind: BulkKind
    name: str
    title: str
    policy: str
    question: str = ""
    takes_note: bool = False

    @property
    def noun(self) -> BulkNoun:
        """Its things in words."""
        return NOUNS[self.kind]


_OTHERS = (
    BulkRule(BulkKind.HOST, "enable", gettext_noop("Enable"), "hosts:write"),
    BulkRule(BulkKind.HOST, "disable", gettext_noop("Disable"), "hosts:write", takes_note=True),
    BulkRule(
        BulkKind.VOLUME,
        "detach",
        gettext_noop("Detach"),
        DETACH_VOLUME.policy,
        gettext_noop("Their instances lose these disks. Unmount them inside first; the volumes and their data stay."),
    ),
    BulkRule(
        BulkKind.VOLUME,
        "delete",
        gettext_noop("Delete"),
        "volumes:write",
        gettext_noop("What is in these volumes is lost for good."),
    ),
    BulkRule(
        BulkKind.IMAGE,
        "deactivate",
        gettext_noop("Deactivate"),
        "images:publish",
        gettext_noop("Nobody can create instances of these images."),
    ),
    BulkRule(BulkKind.IMAGE, "reactivate", gettext_noop("Reactivate"), "images:publish"),
    BulkRule(
        BulkKind.IMAGE,
        "delete",
        gettext_noop("Delete"),
        "images:write",
        gettext_noop("These images are lost for good."),
    ),
    BulkRule(
        BulkKind.FLOATING_IP,
        "release",
        gettext_noop("Give back"),
        "floating_ips:write",
        gettext_noop("What is reached by these addresses is so no longer, and somebody else may get them at once."),
    ),
    BulkRule(BulkKind.WORK, "retry", gettext_noop("Wake again"), "work:write"),
    BulkRule(
        BulkKind.WORK,
        "cancel",
        gettext_noop("Cancel"),
        "work:write",
        gettext_noop("What waits for this work ends with an error, which names you. This cannot be taken back."),
    ),
)
BULK_RULES: dict[BulkKind, dict[str, BulkRule]] = {
    kind: {rule.name: rule for rule in _OTHERS if rule.kind is kind} for kind in BulkKind
}
"""By kind and by name, in the order in which menus show them. Those of instances are in the table of actions."""
BULK_RULES[BulkKind.INSTANCE] = {
    rule.name: BulkRule(BulkKind.INSTANCE, rule.name, rule.title, rule.policy, rule.bulk.question)
    for rule in ACTIONS.values()
    if rule.bulk is not None
}


def confirm_problem(rule: BulkRule, *, count: int, confirmed: int | None) -> str:
    """Why the job may not begin: whoever asks must know how many things it concerns. Empty where it may."""
    if not rule.question or confirmed == count:
        return ""
    said = _("was not confirmed") if confirmed is None else _("was confirmed for {confirmed}", confirmed=confirmed)
    return _(
        "{title} of {counted} {said}: {question} Confirm it with {count}.",
        title=rule.title,
        counted=rule.noun.counted(count),
        said=said,
        question=rule.question,
        count=count,
    )


def word_to_type(rule: BulkRule, *, count: int) -> str:
    """What a person types before it is done to so many; empty where reading the names is enough."""
    return rule.name if rule.question and count > MAX_UNTYPED else ""
