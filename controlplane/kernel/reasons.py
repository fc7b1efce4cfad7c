"""Why a host was refused: stable codes with the numbers, and one sentence for people.

Filters, the candidate search, the agent's claim and the API all speak in these. The codes are stored in decisions
and must never change their meaning; a new rule gets a new code.
"""

from dataclasses import dataclass
from enum import StrEnum

Value = int | float | str | None


class RefusalReason(StrEnum):
    """One rule that a host broke. The value is the stored and public code."""

    RAM_SHORT = "ram_short"
    VCPU_SHORT = "vcpu_short"
    DISK_SHORT = "disk_short"
    RESOURCE_SHORT = "resource_short"
    AMOUNT_NOT_ALLOWED = "amount_not_allowed"
    DISABLED = "disabled"
    DOWN = "down"
    WRONG_ZONE = "wrong_zone"
    TENANT_NOT_ALLOWED = "tenant_not_allowed"
    NOT_IN_AGGREGATE = "not_in_aggregate"
    TRAIT_MISSING = "trait_missing"
    TRAIT_FORBIDDEN = "trait_forbidden"
    NO_CANDIDATE = "no_candidate"
    CLAIM_LOST = "claim_lost"
    IGNORED = "ignored"
    NOT_FORCED = "not_forced"
    NOT_REQUESTED_HOST = "not_requested_host"
    CAPABILITY_MISSING = "capability_missing"
    CAPABILITY_MISMATCH = "capability_mismatch"
    IMAGE_PROPERTY_UNSUPPORTED = "image_property_unsupported"
    AGGREGATE_METADATA_MISSING = "aggregate_metadata_missing"
    AGGREGATE_METADATA_MISMATCH = "aggregate_metadata_mismatch"
    NOT_SAME_HOST = "not_same_host"
    NOT_DIFFERENT_HOST = "not_different_host"
    GROUP_AFFINITY = "group_affinity"
    GROUP_ANTI_AFFINITY = "group_anti_affinity"
    IO_OPS = "io_ops"
    NUM_INSTANCES = "num_instances"
    PLUGIN_REFUSED = "plugin_refused"

    @property
    def label(self) -> str:
        """The code in words, for counts: '71 vcpu short'."""
        return self.value.replace("_", " ")


# What is short, in the words of the sentence. RESOURCE_SHORT names its class in `detail`.
_SHORT = {
    RefusalReason.RAM_SHORT: "ram",
    RefusalReason.VCPU_SHORT: "vcpu",
    RefusalReason.DISK_SHORT: "disk",
    RefusalReason.RESOURCE_SHORT: "",
}

# {wanted}, {available} and {unit} come from the refusal; `detail` is appended in brackets.
_SENTENCES = {
    RefusalReason.AMOUNT_NOT_ALLOWED: "wants {wanted} in one piece, allows {available}",
    RefusalReason.DISABLED: "the compute service is disabled",
    RefusalReason.DOWN: "the compute service is down",
    RefusalReason.WRONG_ZONE: "zone: wants {wanted}, is in {available}",
    RefusalReason.TENANT_NOT_ALLOWED: "project {wanted} is not allowed here",
    RefusalReason.NOT_IN_AGGREGATE: "not in any of the aggregates {wanted}",
    RefusalReason.TRAIT_MISSING: "lacks the trait {wanted}",
    RefusalReason.TRAIT_FORBIDDEN: "has the forbidden trait {wanted}",
    RefusalReason.NO_CANDIDATE: "no allocation candidate",
    RefusalReason.CLAIM_LOST: "its room was claimed by somebody else first",
    RefusalReason.IGNORED: "the request asks to ignore it",
    RefusalReason.NOT_FORCED: "the request forces {wanted}",
    RefusalReason.NOT_REQUESTED_HOST: "the request asks for {wanted}",
    RefusalReason.CAPABILITY_MISSING: "capability wanted: {wanted}, the host reports none of that name",
    RefusalReason.CAPABILITY_MISMATCH: "capability wanted: {wanted}, the host has {available}",
    RefusalReason.IMAGE_PROPERTY_UNSUPPORTED: "the image needs {wanted}, the host offers {available}",
    RefusalReason.AGGREGATE_METADATA_MISSING: "wants aggregate metadata {wanted}, none of its aggregates has that key",
    RefusalReason.AGGREGATE_METADATA_MISMATCH: "wants aggregate metadata {wanted}, has {available}",
    RefusalReason.NOT_SAME_HOST: "holds none of the servers it should be together with: {wanted}",
    RefusalReason.NOT_DIFFERENT_HOST: "holds a server it should be apart from: {available}",
    RefusalReason.GROUP_AFFINITY: "the server group lives on {wanted}",
    RefusalReason.GROUP_ANTI_AFFINITY: "holds {available} of the server group, at most {wanted} allowed",
    RefusalReason.IO_OPS: "has {available} heavy operations under way, fewer than {wanted} allowed",
    RefusalReason.NUM_INSTANCES: "holds {available} instances, fewer than {wanted} allowed",
    RefusalReason.PLUGIN_REFUSED: "refused by a plug-in",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """One host refused by one rule. Units are named in `unit` (MB and GB are binary, as Placement's class names).

    `available` is what was left, `total` the whole before overcommit, `ratio` the overcommit; `stage` names the
    part of the scheduler (or the filter) that said no.
    """

    reason: RefusalReason
    wanted: Value = None
    available: Value = None
    unit: str = ""
    detail: str = ""
    stage: str = ""
    total: int | float | None = None
    ratio: float | None = None

    def sentence(self) -> str:
        """One sentence for people: 'ram: wants 4096 MB, has 1900 of 8192 after 1.5x'."""
        if self.reason in _SHORT:
            return self._short_sentence()
        template = _SENTENCES.get(self.reason, self.reason.label)
        text = template.format(wanted=_text(self.wanted), available=_text(self.available), unit=self.unit)
        return f"{text} ({self.detail})" if self.detail else text

    def _short_sentence(self) -> str:
        subject = _SHORT[self.reason] or self.detail
        wanted = f"{_text(self.wanted)} {self.unit}" if self.unit else _text(self.wanted)
        text = f"{subject}: wants {wanted}, has {_text(self.available)}"
        if self.total is not None:
            text += f" of {_text(self.total)}"
        if self.ratio is not None and self.ratio != 1:
            text += f" after {self.ratio:g}x"
        return text


def _text(value: Value) -> str:
    if value is None or value == "":
        return "nothing"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
