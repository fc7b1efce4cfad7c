"""Why a host was refused: stable codes with the numbers, and one sentence for people.

Filters, the candidate search, the agent's claim and the API all speak in these. The codes are stored in decisions
and must never change their meaning; a new rule gets a new code.
"""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.kernel.texts import Phrase, Translate, in_english, reread
from controlplane.kernel.texts import gettext_noop as _
from controlplane.kernel.units import amount_text

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
    VOLUME_UNREACHED = "volume_unreached"
    VOLUME_POOL_SHORT = "volume_pool_short"

    @property
    def label(self) -> str:
        """The rule in a few words, which pages translate, for tables and choices: 'not enough memory'."""
        return _WORDS[self][0] if self in _WORDS else self.value.replace("_", " ")

    def of_hosts(self, count: int, named: str = "", translate: Translate = in_english) -> str:
        """What so many hosts do or are, after their number: 'lack memory', for one 'lacks memory'.

        `named` is the object where all refuse for the same one: 'lack trait CUSTOM_GPU'. Number is a matter of English
        alone: a template that is translated is the same for one and many.
        """
        plain, with_object = _WORDS[self][1:] if self in _WORDS else (f"are refused: {self.label}", "")
        template = with_object if named and with_object else plain
        said = translate(template)
        phrase = said.format(named)
        if count != 1 or said != template:
            return phrase
        verb, space, rest = phrase.partition(" ")
        return f"{_SINGULAR.get(verb, verb)}{space}{rest}"

    @property
    def names_object(self) -> bool:
        """Whether `of_hosts` has words with an object."""
        return self in _WORDS and bool(_WORDS[self][2])


_SINGULAR = {"lack": "lacks", "are": "is", "have": "has", "hold": "holds", "do": "does", "were": "was", "fit": "fits"}

# The label; what many hosts do or are; the same with the object ({}) that all of them are refused for.
_WORDS: dict[RefusalReason, tuple[str, str, str]] = {
    RefusalReason.RAM_SHORT: (_("not enough memory"), _("lack memory"), ""),
    RefusalReason.VCPU_SHORT: (_("not enough vCPUs"), _("lack vCPUs"), ""),
    RefusalReason.DISK_SHORT: (_("not enough disk"), _("lack disk"), ""),
    RefusalReason.RESOURCE_SHORT: (_("not enough of a resource"), _("lack a resource"), _("lack {}")),
    RefusalReason.AMOUNT_NOT_ALLOWED: (_("too large for the host"), _("are too small for it"), ""),
    RefusalReason.DISABLED: (_("disabled"), _("are disabled"), ""),
    RefusalReason.DOWN: (_("down"), _("are down"), ""),
    RefusalReason.WRONG_ZONE: (_("in another zone"), _("are in another zone"), _("are not in zone {}")),
    RefusalReason.TENANT_NOT_ALLOWED: (_("project not allowed"), _("are for other projects"), ""),
    RefusalReason.NOT_IN_AGGREGATE: (
        _("not in the aggregates asked for"),
        _("are not in the aggregates asked for"),
        "",
    ),
    RefusalReason.AGGREGATE_ISOLATED: (_("kept for other traits"), _("are kept for requests with their traits"), ""),
    RefusalReason.TRAIT_MISSING: (_("trait missing"), _("lack a trait"), _("lack {}")),
    RefusalReason.TRAIT_FORBIDDEN: (_("forbidden trait"), _("have a forbidden trait"), _("have the forbidden {}")),
    RefusalReason.NO_CANDIDATE: (_("no allocation candidate"), _("have no way to give all of it"), ""),
    RefusalReason.CLAIM_LOST: (_("claim lost"), _("were claimed by others first"), ""),
    RefusalReason.IGNORED: (_("ignored by the request"), _("are ignored by the request"), ""),
    RefusalReason.NOT_FORCED: (_("not the forced host"), _("are not the forced host"), ""),
    RefusalReason.NOT_REQUESTED_HOST: (_("not the requested host"), _("are not the requested host"), ""),
    RefusalReason.CAPABILITY_MISSING: (_("capability missing"), _("lack a capability"), _("lack the capability {}")),
    RefusalReason.CAPABILITY_MISMATCH: (
        _("capability differs"),
        _("have another capability"),
        _("do not have capability {}"),
    ),
    RefusalReason.IMAGE_PROPERTY_UNSUPPORTED: (
        _("image not supported"),
        _("do not support the image"),
        _("do not support {} of the image"),
    ),
    RefusalReason.AGGREGATE_METADATA_MISSING: (_("aggregate metadata missing"), _("lack metadata of aggregates"), ""),
    RefusalReason.AGGREGATE_METADATA_MISMATCH: (
        _("aggregate metadata differs"),
        _("have other metadata of aggregates"),
        "",
    ),
    RefusalReason.NOT_SAME_HOST: (_("not the host of the others"), _("hold none of the instances to be with"), ""),
    RefusalReason.NOT_DIFFERENT_HOST: (_("holds one to be apart from"), _("hold an instance to be apart from"), ""),
    RefusalReason.GROUP_AFFINITY: (_("server group is elsewhere"), _("are not where the server group is"), ""),
    RefusalReason.GROUP_ANTI_AFFINITY: (
        _("holds the server group already"),
        _("hold members of the server group already"),
        "",
    ),
    RefusalReason.IO_OPS: (_("too many heavy operations"), _("have too many heavy operations under way"), ""),
    RefusalReason.NUM_INSTANCES: (_("too many instances"), _("hold as many instances as they may"), ""),
    RefusalReason.NUMA_TOPOLOGY_MISSING: (_("no NUMA cells"), _("have no NUMA cells"), ""),
    RefusalReason.NUMA_CELLS_SHORT: (_("not enough NUMA cells"), _("lack NUMA cells that fit"), ""),
    RefusalReason.NUMA_MEMORY_SHORT: (_("not enough memory in a NUMA cell"), _("lack memory in one NUMA cell"), ""),
    RefusalReason.NUMA_CPU_SHORT: (_("not enough CPUs in a NUMA cell"), _("lack CPUs in one NUMA cell"), ""),
    RefusalReason.NUMA_NETWORK_FAR: (
        _("network near another NUMA cell"),
        _("have the network near another NUMA cell"),
        "",
    ),
    RefusalReason.PINNED_CPU_SHORT: (_("no free pinned CPUs"), _("lack free pinned CPUs"), ""),
    RefusalReason.CPU_THREADS_UNSUITED: (_("CPU threads do not suit"), _("have no CPU threads that suit"), ""),
    RefusalReason.PAGES_SHORT: (_("not enough memory pages"), _("lack memory pages"), ""),
    RefusalReason.PAGE_SIZE_UNSUPPORTED: (_("page size not supported"), _("do not have pages of that size"), ""),
    RefusalReason.PCI_SHORT: (_("no free PCI device"), _("lack free PCI devices"), _("lack free PCI devices {}")),
    RefusalReason.PCI_NUMA_FAR: (
        _("PCI device in another NUMA cell"),
        _("have the PCI devices in another NUMA cell"),
        "",
    ),
    RefusalReason.PLUGIN_REFUSED: (_("refused by a plug-in"), _("are refused by a plug-in"), ""),
    RefusalReason.HOST_ISOLATED: (_("kept for isolated images"), _("are kept for isolated images"), ""),
    RefusalReason.HOST_NOT_ISOLATED: (_("not for isolated images"), _("are not for isolated images"), ""),
    RefusalReason.IMAGE_NOT_ALLOWED: (_("image not allowed"), _("are for other images"), ""),
    RefusalReason.FLAVOR_NOT_ALLOWED: (_("flavor not allowed"), _("are for other flavors"), _("are not for flavor {}")),
    RefusalReason.OTHER_FLAVOR_ON_HOST: (_("other flavors on the host"), _("hold instances of other flavors"), ""),
    RefusalReason.NOT_IN_NETWORK: (_("address in another network"), _("have addresses in other networks"), ""),
    RefusalReason.QUERY_NOT_MET: (_("query not met"), _("do not meet the query"), ""),
    RefusalReason.METRIC_MISSING: (_("metric missing"), _("do not report a metric"), ""),
    RefusalReason.NOT_EXACT: (_("not exactly as much free"), _("do not have exactly as much free"), ""),
    RefusalReason.TRIED_BEFORE: (_("tried before and failed"), _("were tried before and failed"), ""),
    RefusalReason.TRUST_LEVEL: (_("not trusted as asked"), _("are not trusted as asked"), ""),
    RefusalReason.VOLUME_UNREACHED: (_("volume out of reach"), _("do not reach the pool of a volume"), ""),
    RefusalReason.VOLUME_POOL_SHORT: (_("no room for a volume"), _("have no pool with room for the new volume"), ""),
}

# What is short, in the words of the sentence, and its resource class. RESOURCE_SHORT names its class in `detail`.
_SHORT = {
    RefusalReason.RAM_SHORT: (_("memory"), "MEMORY_MB"),
    RefusalReason.VCPU_SHORT: (_("vCPUs"), "VCPU"),
    RefusalReason.DISK_SHORT: (_("disk"), "DISK_GB"),
    RefusalReason.RESOURCE_SHORT: ("", ""),
}
# The same where one of them is wanted.
_SENTENCES_OF_ONE = {
    RefusalReason.NUM_INSTANCES: _("holds {available} of at most {wanted} instance"),
    RefusalReason.IO_OPS: _("has {available} of at most {wanted} heavy operation under way"),
    RefusalReason.NUMA_TOPOLOGY_MISSING: _("wants {wanted} NUMA cell, the host reports no NUMA topology"),
    RefusalReason.NUMA_CPU_SHORT: _("wants {wanted} shared CPU in one NUMA cell, has {available}"),
    RefusalReason.PINNED_CPU_SHORT: _("wants {wanted} pinned CPU in one NUMA cell, {available} free"),
    RefusalReason.CPU_THREADS_UNSUITED: _("wants {wanted} pinned CPU under the thread policy, {available} suited"),
    RefusalReason.PAGES_SHORT: _("wants {wanted} page of {unit}, has {available}"),
    RefusalReason.PCI_SHORT: _("wants {wanted} PCI device, {available} free"),
    RefusalReason.PCI_NUMA_FAR: _("wants {wanted} PCI device near its NUMA cells, {available} free there"),
}
# The classes of the units that a refusal names.
_OF_UNIT = {"MB": "MEMORY_MB", "GB": "DISK_GB"}

_WITH_DETAIL = _("{sentence} ({detail})")
# What `detail` says in words of ours; any other is names of its own.
_DETAILS = (
    _("MB of memory"),
    _("MB of disk"),
    _("vcpu"),
    _("the most of {resource} in one allocation"),
    _("the least of {resource} in one allocation, or its step"),
    _("guest cell {guest}, host cell {host}: {detail}"),
    _("guest cell {guest}, host cell {host}"),
    _("a new volume of {size}, pool {pool}"),
    _("volume {name}, pool {pool}"),
    _("volume {name}"),
    _("forced down"),
    _("never seen"),
    _("last seen {seconds} s ago"),
    _("host is gone"),
)
# Beside these it is what an operator wrote.
_DETAILS_OF_DISABLED = (_("cell {name} is disabled"), _("disabled for the trial"))

# {wanted}, {available} and {unit} come from the refusal; `detail` is appended in brackets.
_SENTENCES = {
    RefusalReason.AMOUNT_NOT_ALLOWED: _("wants {wanted} in one piece, allows {available}"),
    RefusalReason.DISABLED: _("the compute service is disabled"),
    RefusalReason.DOWN: _("the compute service is down"),
    RefusalReason.WRONG_ZONE: _("zone: wants {wanted}, is in {available}"),
    RefusalReason.TENANT_NOT_ALLOWED: _("project {wanted} is not allowed here"),
    RefusalReason.NOT_IN_AGGREGATE: _("not in any of the aggregates {wanted}"),
    RefusalReason.AGGREGATE_ISOLATED: _("its aggregates {available} are for those who require their traits"),
    RefusalReason.TRAIT_MISSING: _("lacks the trait {wanted}"),
    RefusalReason.TRAIT_FORBIDDEN: _("has the forbidden trait {wanted}"),
    RefusalReason.NO_CANDIDATE: _("no allocation candidate"),
    RefusalReason.CLAIM_LOST: _("its room was claimed by somebody else first"),
    RefusalReason.IGNORED: _("the request asks to ignore it"),
    RefusalReason.NOT_FORCED: _("the request forces {wanted}"),
    RefusalReason.NOT_REQUESTED_HOST: _("the request asks for {wanted}"),
    RefusalReason.CAPABILITY_MISSING: _("capability wanted: {wanted}, the host reports none of that name"),
    RefusalReason.CAPABILITY_MISMATCH: _("capability wanted: {wanted}, the host has {available}"),
    RefusalReason.IMAGE_PROPERTY_UNSUPPORTED: _("the image needs {wanted}, the host offers {available}"),
    RefusalReason.AGGREGATE_METADATA_MISSING: _(
        "wants aggregate metadata {wanted}, none of its aggregates has that key"
    ),
    RefusalReason.AGGREGATE_METADATA_MISMATCH: _("wants aggregate metadata {wanted}, has {available}"),
    RefusalReason.NOT_SAME_HOST: _("holds none of the servers it should be together with: {wanted}"),
    RefusalReason.NOT_DIFFERENT_HOST: _("holds a server it should be apart from: {available}"),
    RefusalReason.GROUP_AFFINITY: _("the server group lives on {wanted}"),
    RefusalReason.GROUP_ANTI_AFFINITY: _("holds {available} of the server group, at most {wanted} allowed"),
    RefusalReason.IO_OPS: _("has {available} of at most {wanted} heavy operations under way"),
    RefusalReason.NUM_INSTANCES: _("holds {available} of at most {wanted} instances"),
    RefusalReason.NUMA_TOPOLOGY_MISSING: _("wants {wanted} NUMA cells, the host reports no NUMA topology"),
    RefusalReason.NUMA_CELLS_SHORT: _("wants {wanted} NUMA cells at once, {available} fit"),
    RefusalReason.NUMA_MEMORY_SHORT: _("wants {wanted} of memory in one NUMA cell, has {available}"),
    RefusalReason.NUMA_CPU_SHORT: _("wants {wanted} shared CPUs in one NUMA cell, has {available}"),
    RefusalReason.NUMA_NETWORK_FAR: _("network {wanted} is near another NUMA cell: {available}"),
    RefusalReason.PINNED_CPU_SHORT: _("wants {wanted} pinned CPUs in one NUMA cell, {available} free"),
    RefusalReason.CPU_THREADS_UNSUITED: _("wants {wanted} pinned CPUs under the thread policy, {available} suited"),
    RefusalReason.PAGES_SHORT: _("wants {wanted} pages of {unit}, has {available}"),
    RefusalReason.PAGE_SIZE_UNSUPPORTED: _("wants {wanted} pages, has sizes of {available} KiB"),
    RefusalReason.PCI_SHORT: _("wants {wanted} PCI devices, {available} free"),
    RefusalReason.PCI_NUMA_FAR: _("wants {wanted} PCI devices near its NUMA cells, {available} free there"),
    RefusalReason.PLUGIN_REFUSED: _("refused by a plug-in"),
    RefusalReason.HOST_ISOLATED: _("is kept for isolated images, {wanted} is none of them"),
    RefusalReason.HOST_NOT_ISOLATED: _("is not among the hosts that isolated images such as {wanted} run on"),
    RefusalReason.IMAGE_NOT_ALLOWED: _("the image has {wanted}, its aggregates are for {available}"),
    RefusalReason.FLAVOR_NOT_ALLOWED: _("flavor {wanted}, its aggregates are for {available}"),
    RefusalReason.OTHER_FLAVOR_ON_HOST: _("holds instances of the flavors {available}, not {wanted} alone"),
    RefusalReason.NOT_IN_NETWORK: _("address: wants one in {wanted}, has {available}"),
    RefusalReason.QUERY_NOT_MET: _("does not meet the query {wanted}"),
    RefusalReason.METRIC_MISSING: _("does not report {wanted}"),
    RefusalReason.NOT_EXACT: _("wants exactly {wanted} free, has {available}"),
    RefusalReason.TRIED_BEFORE: _("was tried before and failed"),
    RefusalReason.TRUST_LEVEL: _("wants a host that is {wanted}, attestation calls it {available}"),
    RefusalReason.VOLUME_UNREACHED: _("does not reach the pool of a volume: {wanted}"),
    RefusalReason.VOLUME_POOL_SHORT: _("wants {wanted} for a new volume, its pools have at most {available}"),
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

    def sentence(self, translate: Translate = in_english) -> str:
        """One sentence for people: 'memory: wants 4 GiB, has 1,900 MiB of 8 GiB after 1.5x'."""
        return self.phrase().sentence(translate)

    def phrase(self) -> Phrase:
        """The sentence in English, which can be said in another language."""
        if self.reason in _SHORT:
            return self._short_phrase()
        template = _SENTENCES.get(self.reason, self.reason.label)
        if self.wanted == 1:
            template = _SENTENCES_OF_ONE.get(self.reason, template)
        wanted, available, unit = self._amounts()
        text = Phrase(template, wanted=wanted, available=available, unit=unit)
        if not self.detail:
            return text
        known = _DETAILS_OF_DISABLED if self.reason is RefusalReason.DISABLED else _DETAILS
        return Phrase(_WITH_DETAIL, sentence=text, detail=reread(self.detail, known))

    def _amounts(self) -> tuple[str, str, str]:
        """What is wanted and there, with the unit inside the amounts where it is one of memory or disk."""
        name = _OF_UNIT.get(self.unit)
        if name is None:
            return _text(self.wanted), _text(self.available), self.unit
        return _text(self.wanted, name), _text(self.available, name), ""

    def _short_phrase(self) -> Phrase:
        subject, name = _SHORT[self.reason]
        wanted, left = _text(self.wanted, name), _text(self.available, name)
        if wanted == left and self.wanted != self.available and name == "MEMORY_MB":
            wanted, left = f"{self.wanted:,} MiB", f"{self.available:,} MiB"
        what = Phrase(subject) if subject else self.detail
        text = Phrase(_("{what}: wants {wanted}, has {left}"), what=what, wanted=wanted, left=left)
        if self.total is not None:
            total = _text(self.total, name)
            text = Phrase(
                _("{what}: wants {wanted}, has {left} of {total}"), what=what, wanted=wanted, left=left, total=total
            )
        if self.ratio is not None and self.ratio != 1:
            return Phrase(_("{sentence} after {ratio:g}x"), sentence=text, ratio=self.ratio)
        return text


def _text(value: Value, resource_class: str = "") -> str:
    """`resource_class` gives whole numbers its unit."""
    if value is None or value == "":
        return Phrase(_("nothing"))
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, int) and resource_class:
        return amount_text(value, resource_class)
    return str(value)
