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
    AGGREGATE_ISOLATED = "aggregate_isolated"
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
    NUMA_TOPOLOGY_MISSING = "numa_topology_missing"
    NUMA_CELLS_SHORT = "numa_cells_short"
    NUMA_MEMORY_SHORT = "numa_memory_short"
    NUMA_CPU_SHORT = "numa_cpu_short"
    NUMA_NETWORK_FAR = "numa_network_far"
    PINNED_CPU_SHORT = "pinned_cpu_short"
    CPU_THREADS_UNSUITED = "cpu_threads_unsuited"
    PAGES_SHORT = "pages_short"
    PAGE_SIZE_UNSUPPORTED = "page_size_unsupported"
    PCI_SHORT = "pci_short"
    PCI_NUMA_FAR = "pci_numa_far"
    PLUGIN_REFUSED = "plugin_refused"
    HOST_ISOLATED = "host_isolated"
    HOST_NOT_ISOLATED = "host_not_isolated"
    IMAGE_NOT_ALLOWED = "image_not_allowed"
    FLAVOR_NOT_ALLOWED = "flavor_not_allowed"
    OTHER_FLAVOR_ON_HOST = "other_flavor_on_host"
    NOT_IN_NETWORK = "not_in_network"
    QUERY_NOT_MET = "query_not_met"
    METRIC_MISSING = "metric_missing"
    NOT_EXACT = "not_exact"
    TRIED_BEFORE = "tried_before"
    TRUST_LEVEL = "trust_level"

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
    RefusalReason.AGGREGATE_ISOLATED: "its aggregates {available} are for those who require their traits",
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
    RefusalReason.NUMA_TOPOLOGY_MISSING: "wants {wanted} NUMA cells, the host reports no NUMA topology",
    RefusalReason.NUMA_CELLS_SHORT: "wants {wanted} NUMA cells at once, {available} fit",
    RefusalReason.NUMA_MEMORY_SHORT: "wants {wanted} {unit} in one NUMA cell, has {available}",
    RefusalReason.NUMA_CPU_SHORT: "wants {wanted} shared CPUs in one NUMA cell, has {available}",
    RefusalReason.NUMA_NETWORK_FAR: "network {wanted} is near another NUMA cell: {available}",
    RefusalReason.PINNED_CPU_SHORT: "wants {wanted} pinned CPUs in one NUMA cell, {available} free",
    RefusalReason.CPU_THREADS_UNSUITED: "wants {wanted} pinned CPUs under the thread policy, {available} suited",
    RefusalReason.PAGES_SHORT: "wants {wanted} pages of {unit}, has {available}",
    RefusalReason.PAGE_SIZE_UNSUPPORTED: "wants {wanted} pages, has sizes of {available} KiB",
    RefusalReason.PCI_SHORT: "wants {wanted} PCI devices, {available} free",
    RefusalReason.PCI_NUMA_FAR: "wants {wanted} PCI devices near its NUMA cells, {available} free there",
    RefusalReason.PLUGIN_REFUSED: "refused by a plug-in",
    RefusalReason.HOST_ISOLATED: "is kept for isolated images, {wanted} is none of them",
    RefusalReason.HOST_NOT_ISOLATED: "is not among the hosts that isolated images such as {wanted} run on",
    RefusalReason.IMAGE_NOT_ALLOWED: "the image has {wanted}, its aggregates are for {available}",
    RefusalReason.FLAVOR_NOT_ALLOWED: "flavor {wanted}, its aggregates are for {available}",
    RefusalReason.OTHER_FLAVOR_ON_HOST: "holds instances of the flavors {available}, not {wanted} alone",
    RefusalReason.NOT_IN_NETWORK: "address: wants one in {wanted}, has {available}",
    RefusalReason.QUERY_NOT_MET: "does not meet the query {wanted}",
    RefusalReason.METRIC_MISSING: "does not report {wanted}",
    RefusalReason.NOT_EXACT: "wants exactly {wanted} free, has {available}",
    RefusalReason.TRIED_BEFORE: "was tried before and failed",
    RefusalReason.TRUST_LEVEL: "wants a host that is {wanted}, attestation calls it {available}",
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
