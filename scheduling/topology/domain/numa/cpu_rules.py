"""CPU policy, thread policy, emulator threads and the masks of a guest, with every combination that is refused.

Source: Nova's rules of CPU pinning. Every error names the key to change.
"""

import re
from dataclasses import dataclass

from computeagent.protocol.topology import CpuPolicy, EmulatorThreads, ThreadPolicy
from controlplane.kernel.cpu_list import format_cpus, parse_mask
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.topology.domain.flavor_keys import HwRequest, parse_choice, parse_flag

HYPERTHREADING = "HW_CPU_HYPERTHREADING"

POLICY, THREADS, EMULATOR = "hw:cpu_policy", "hw:cpu_thread_policy", "hw:emulator_threads_policy"
DEDICATED_MASK, REALTIME, REALTIME_MASK = "hw:cpu_dedicated_mask", "hw:cpu_realtime", "hw:cpu_realtime_mask"

# (flavor, image) pairs that contradict each other; in all others the flavor's value stands, or else the image's.
_CONTRADICTIONS = {
    (CpuPolicy.MIXED, CpuPolicy.DEDICATED),
    (CpuPolicy.SHARED, CpuPolicy.MIXED),
    (CpuPolicy.SHARED, CpuPolicy.DEDICATED),
}
_EXPLICIT = re.compile(r"^resources(?:[A-Za-z0-9_-]{1,64})?:(VCPU|PCPU)$")
_TRAIT = re.compile(rf"^trait(?:[A-Za-z0-9_-]{{1,64}})?:{HYPERTHREADING}$")
_THREADS_BY_TRAIT = {"forbidden": ThreadPolicy.ISOLATE, "required": ThreadPolicy.REQUIRE}


@dataclass(frozen=True, slots=True)
class CpuRules:
    """What a guest's vCPUs ask for. `pinned` are the vCPUs to be pinned, `realtime` those that run at real time."""

    policy: CpuPolicy | None
    threads: ThreadPolicy | None
    emulator_threads: EmulatorThreads | None
    pinned: frozenset[int]
    realtime: frozenset[int]

    @property
    def is_pinned(self) -> bool:
        """Whether any vCPU is pinned."""
        return self.policy in (CpuPolicy.DEDICATED, CpuPolicy.MIXED)


def cpu_rules(hw_request: HwRequest) -> CpuRules:
    """The rules that flavor and image make together. Raises Invalid naming the key that contradicts."""
    policy, threads = cpu_policy(hw_request), thread_policy(hw_request)
    emulator = emulator_threads(hw_request)
    realtime, dedicated = realtime_cpus(hw_request, emulator), dedicated_cpus(hw_request)
    policy = _with_explicit(hw_request, policy, emulator)
    threads, threads_key = _with_trait(hw_request, threads)
    if policy is CpuPolicy.DEDICATED:
        _check_no_mask(dedicated)
        return CpuRules(policy, threads, emulator, hw_request.vcpus, realtime)
    if policy is CpuPolicy.MIXED:
        return CpuRules(policy, threads, emulator, _mixed(dedicated, realtime), realtime)
    needs_pinning = {
        threads_key: threads is not None,
        EMULATOR: emulator is EmulatorThreads.ISOLATE,
        DEDICATED_MASK: bool(dedicated),
        REALTIME: bool(realtime),
    }
    for field, is_asked in needs_pinning.items():
        if is_asked:
            raise Invalid(
                _("{field} needs pinned CPUs: {policy} must be dedicated or mixed", field=field, policy=POLICY),
                field=field,
            )
    return CpuRules(policy, None, emulator, frozenset(), frozenset())


def cpu_policy(hw_request: HwRequest) -> CpuPolicy | None:
    """Flavor's policy, else the image's, else None (shared). Dedicated by the flavor wins over any image."""
    flavor, image = hw_request.choices("cpu_policy", CpuPolicy)
    if (flavor, image) in _CONTRADICTIONS:
        raise Invalid(
            _(
                "hw_cpu_policy={image} of the image contradicts {policy}={flavor}",
                image=image,
                policy=POLICY,
                flavor=flavor,
            ),
            field="hw_cpu_policy",
        )
    return flavor or image


def thread_policy(hw_request: HwRequest) -> ThreadPolicy | None:
    """Flavor's thread policy, else the image's. Under the flavor's prefer an image's value is ignored."""
    flavor, image = hw_request.choices("cpu_thread_policy", ThreadPolicy)
    if flavor in (None, ThreadPolicy.PREFER) or image in (None, flavor):
        return flavor or image
    raise Invalid(
        _(
            "hw_cpu_thread_policy={image} of the image contradicts {threads}={flavor}",
            image=image,
            threads=THREADS,
            flavor=flavor,
        ),
        field="hw_cpu_thread_policy",
    )


def emulator_threads(hw_request: HwRequest) -> EmulatorThreads | None:
    """The policy of emulator threads; only a flavor can set it."""
    return parse_choice(hw_request.of_flavor("emulator_threads_policy"), EmulatorThreads, EMULATOR)


def dedicated_cpus(hw_request: HwRequest) -> frozenset[int]:
    """The mask of vCPUs to pin: some vCPUs of the flavor, but not all. Empty when not given."""
    text = hw_request.of_flavor("cpu_dedicated_mask")
    if not text:
        return frozenset()
    mask = parse_mask(text, hw_request.flavor.vcpus, DEDICATED_MASK)
    _check_subset(mask, hw_request, DEDICATED_MASK)
    if not mask or mask == hw_request.vcpus:
        which = _("no vCPU") if not mask else _("every vCPU")
        raise Invalid(
            _(
                "{dedicated_mask}: {text!r} pins {which}; some, but not all, expected",
                dedicated_mask=DEDICATED_MASK,
                text=text,
                which=which,
            ),
            field=DEDICATED_MASK,
        )
    return mask


def realtime_cpus(hw_request: HwRequest, emulator: EmulatorThreads | None) -> frozenset[int]:
    """The vCPUs at real time: the image's mask, else the flavor's, else all. Empty without hw:cpu_realtime.

    All vCPUs may be at real time only if emulator threads have a policy, else they would have no CPU to run on.
    """
    if not parse_flag(hw_request.of_flavor("cpu_realtime")):
        return frozenset()
    text = hw_request.of_image("cpu_realtime_mask") or hw_request.of_flavor("cpu_realtime_mask")
    field = "hw_cpu_realtime_mask" if hw_request.of_image("cpu_realtime_mask") else REALTIME_MASK
    mask = parse_mask(text, hw_request.flavor.vcpus, field) if text else hw_request.vcpus
    _check_subset(mask, hw_request, field)
    if not mask:
        raise Invalid(_("{field}: {text!r} leaves no vCPU at real time", field=field, text=text), field=field)
    if mask == hw_request.vcpus and emulator is None:
        raise Invalid(_("{field}: all vCPUs at real time need {emulator}", field=field, emulator=EMULATOR), field=field)
    return mask


def explicit_cpu_counts(hw_request: HwRequest) -> dict[str, int]:
    """VCPU and PCPU that the flavor asks for in so many words, over all groups; amounts that are no number count 0.

    Nova looks at groups with a number only; here every suffix counts, as it does for Placement.
    """
    found = {"VCPU": 0, "PCPU": 0}
    for key, text in hw_request.flavor.extra_specs.items():
        match = _EXPLICIT.match(key)
        if match is not None and str(text).strip().isdigit():
            found[match[1]] += int(text)
    return found


def _with_explicit(
    hw_request: HwRequest, policy: CpuPolicy | None, emulator: EmulatorThreads | None
) -> CpuPolicy | None:
    amounts = explicit_cpu_counts(hw_request)
    vcpus, pcpus = amounts["VCPU"], amounts["PCPU"]
    # The first key of each, to be named: an amount may stand in any group.
    keys = {match[1]: key for key in reversed(tuple(hw_request.flavor.extra_specs)) if (match := _EXPLICIT.match(key))}
    if policy is not None and (vcpus or pcpus):
        named = keys["VCPU"] if vcpus else keys["PCPU"]
        raise Invalid(
            _(
                "{named} cannot be combined with {policy} or hw_cpu_policy; use one or the other",
                named=named,
                policy=POLICY,
            ),
            field=named,
        )
    if vcpus and pcpus:
        raise Invalid(
            _("{VCPU} and {PCPU} exclude each other", VCPU=keys["VCPU"], PCPU=keys["PCPU"]), field=keys["PCPU"]
        )
    if pcpus:
        _check_pcpus(pcpus, hw_request.flavor.vcpus, emulator, keys["PCPU"])
        return CpuPolicy.DEDICATED
    return CpuPolicy.SHARED if vcpus else policy


def _check_pcpus(pcpus: int, vcpus: int, emulator: EmulatorThreads | None, key: str) -> None:
    isolated = emulator is EmulatorThreads.ISOLATE
    wanted = vcpus + isolated
    if pcpus != wanted:
        why = (
            _("{vcpus} vCPUs and one for {emulator}=isolate", vcpus=vcpus, emulator=EMULATOR)
            if isolated
            else _("the flavor has {vcpus} vCPUs", vcpus=vcpus)
        )
        raise Invalid(
            _("{key} is {pcpus}, must be {wanted}: {why}", key=key, pcpus=pcpus, wanted=wanted, why=why), field=key
        )


def _with_trait(hw_request: HwRequest, threads: ThreadPolicy | None) -> tuple[ThreadPolicy | None, str]:
    """The thread policy, which the trait may set in place of the policy's own key, and the key that sets it."""
    key, value = _hyperthreading(hw_request)
    if threads is not None and value:
        raise Invalid(
            _("{key} cannot be combined with {threads} or hw_cpu_thread_policy", key=key, threads=THREADS), field=key
        )
    if value in _THREADS_BY_TRAIT:
        return _THREADS_BY_TRAIT[value], key
    return threads, THREADS if hw_request.of_flavor("cpu_thread_policy") else "hw_cpu_thread_policy"


def _hyperthreading(hw_request: HwRequest) -> tuple[str, str]:
    """The key of the trait, in whatever group, and what it says of it."""
    by_flavor = ((key, str(value)) for key, value in hw_request.flavor.extra_specs.items() if _TRAIT.match(key))
    by_image = str(hw_request.image.properties.get(f"trait:{HYPERTHREADING}", ""))
    return next(by_flavor, (f"trait:{HYPERTHREADING}", "required" if by_image == "required" else ""))


def _check_no_mask(dedicated: frozenset[int]) -> None:
    if dedicated:
        raise Invalid(
            _(
                "{dedicated_mask} is for {policy}=mixed; dedicated pins every vCPU",
                dedicated_mask=DEDICATED_MASK,
                policy=POLICY,
            ),
            field=DEDICATED_MASK,
        )


def _mixed(dedicated: frozenset[int], realtime: frozenset[int]) -> frozenset[int]:
    if bool(dedicated) == bool(realtime):
        count = _("both are") if dedicated else _("neither is")
        raise Invalid(
            _(
                "{policy}=mixed takes its pinned vCPUs from {dedicated_mask} or {realtime}; {count} given",
                policy=POLICY,
                dedicated_mask=DEDICATED_MASK,
                realtime=REALTIME,
                count=count,
            ),
            field=DEDICATED_MASK,
        )
    return dedicated or realtime


def _check_subset(mask: frozenset[int], hw_request: HwRequest, field: str) -> None:
    beyond = mask - hw_request.vcpus
    if beyond:
        raise Invalid(
            _(
                "{field}: vCPU {beyond} of {vcpus} does not exist",
                field=field,
                beyond=format_cpus(beyond),
                vcpus=hw_request.flavor.vcpus,
            ),
            field=field,
        )
