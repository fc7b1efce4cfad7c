"""Keys about CPUs that cannot go together. Each rule is one by which Nova refuses every boot of such a flavor.

What an image could still mend is left to the boot: an image may say which CPU policy it wants where the flavor is
silent, so a thread policy alone is fine here.
"""

from controlplane.kernel.booleans import is_true
from controlplane.kernel.cpu_list import MAX_CPU, parse_mask
from controlplane.kernel.texts import Phrase, gettext_noop
from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.extra_specs.facts import (
    Contradiction,
    Findings,
    FlavorFacts,
    explicit_cpu_keys,
    explicit_cpus,
    hyperthreading_keys,
    settled_cpu_policy,
)

POLICY, THREADS, EMULATOR = "hw:cpu_policy", "hw:cpu_thread_policy", "hw:emulator_threads_policy"
DEDICATED_MASK, REALTIME, REALTIME_MASK = "hw:cpu_dedicated_mask", "hw:cpu_realtime", "hw:cpu_realtime_mask"


def _explicit_cpus(flavor: FlavorFacts) -> Findings:
    """hw:cpu_policy goes without resources:VCPU and resources:PCPU, and those two without each other."""
    vcpu, pcpu = (explicit_cpu_keys(flavor.specs, name) for name in ("VCPU", "PCPU"))
    policy = flavor.specs.get(POLICY)
    if policy is not None:
        for key in (*vcpu, *pcpu):
            yield (
                key,
                _(
                    "{key}: cannot go with {policy}={policy_2}, which sets how many CPUs of which kind; drop one.",
                    key=key,
                    policy=POLICY,
                    policy_2=policy,
                ),
            )
    if vcpu and pcpu:
        yield (
            pcpu[0],
            _(
                "{pcpu}: cannot go with {vcpu}; for CPUs of both kinds there is {policy}=mixed.",
                pcpu=pcpu[0],
                vcpu=vcpu[0],
                policy=POLICY,
            ),
        )


def _pcpu_amount(flavor: FlavorFacts) -> Findings:
    """resources:PCPU is the number of vCPUs, and one more with hw:emulator_threads_policy=isolate."""
    keys = explicit_cpu_keys(flavor.specs, "PCPU")
    asked, isolated = explicit_cpus(flavor.specs, "PCPU"), flavor.specs.get(EMULATOR) == "isolate"
    wanted = flavor.vcpus + (1 if isolated else 0)
    if keys and asked != wanted:
        one = gettext_noop("the flavor's {vcpus} vCPUs and one for {emulator}=isolate")
        why = (
            Phrase(one, vcpus=flavor.vcpus, emulator=EMULATOR)
            if isolated
            else _("the flavor's {vcpus} vCPUs", vcpus=flavor.vcpus)
        )
        yield (
            keys[0],
            _(
                "{keys}: asks for {asked} dedicated CPUs; it must be {wanted}, {why}.",
                keys=keys[0],
                asked=asked,
                wanted=wanted,
                why=why,
            ),
        )


def _shared(flavor: FlavorFacts) -> Findings:
    """Shared CPUs have no thread policy, isolated emulator threads, dedicated mask or realtime priority."""
    if settled_cpu_policy(flavor.specs) != "shared":
        return
    because = f"{POLICY}=shared" if flavor.specs.get(POLICY) else explicit_cpu_keys(flavor.specs, "VCPU")[0]
    barred = {
        THREADS: flavor.specs.get(THREADS) is not None,
        EMULATOR: flavor.specs.get(EMULATOR) == "isolate",
        DEDICATED_MASK: DEDICATED_MASK in flavor.specs,
        REALTIME: is_true(flavor.specs.get(REALTIME)),
        **dict.fromkeys(hyperthreading_keys(flavor.specs), True),
    }
    for key, is_asked in barred.items():
        if is_asked:
            yield key, _("{key}: needs dedicated CPUs, and {because} shares them all.", key=key, because=because)


def _masked_policies(flavor: FlavorFacts) -> Findings:
    """hw:cpu_dedicated_mask goes with the policy mixed alone, which needs it or hw:cpu_realtime, not both."""
    policy, has_mask = settled_cpu_policy(flavor.specs), DEDICATED_MASK in flavor.specs
    if policy == "dedicated" and has_mask:
        yield (
            DEDICATED_MASK,
            _(
                "{dedicated_mask}: goes with {policy}=mixed only; here all CPUs are dedicated.",
                dedicated_mask=DEDICATED_MASK,
                policy=POLICY,
            ),
        )
    realtime = is_true(flavor.specs.get(REALTIME))
    if has_mask and realtime:
        yield (
            DEDICATED_MASK,
            _(
                "{dedicated_mask}: cannot go with {realtime}: each says which CPUs are dedicated.",
                dedicated_mask=DEDICATED_MASK,
                realtime=REALTIME,
            ),
        )
    if policy == "mixed" and not has_mask and not realtime:
        yield (
            POLICY,
            _(
                "{policy}: mixed needs {dedicated_mask} or {realtime} to say which CPUs are dedicated.",
                policy=POLICY,
                dedicated_mask=DEDICATED_MASK,
                realtime=REALTIME,
            ),
        )


def _dedicated_mask(flavor: FlavorFacts) -> Findings:
    """hw:cpu_dedicated_mask names some vCPUs of the flavor and leaves some."""
    mask = flavor.specs.get(DEDICATED_MASK)
    cpus = _mask_cpus(flavor, mask, DEDICATED_MASK)
    if cpus is None:
        return
    if not cpus or len(cpus & set(range(flavor.vcpus))) == flavor.vcpus:
        sentence = "all" if cpus else "none"
        yield (
            DEDICATED_MASK,
            _(
                "{dedicated_mask}: {mask!r} names {sentence} of {vcpus} vCPUs; it must name some.",
                dedicated_mask=DEDICATED_MASK,
                mask=mask,
                sentence=sentence,
                vcpus=flavor.vcpus,
            ),
        )
    elif max(cpus) >= flavor.vcpus:
        yield DEDICATED_MASK, _beyond(DEDICATED_MASK, max(cpus), flavor.vcpus)


def _realtime(flavor: FlavorFacts) -> Findings:
    """hw:cpu_realtime_mask names vCPUs of the flavor; all of them only with hw:emulator_threads_policy."""
    mask = flavor.specs.get(REALTIME_MASK)
    cpus = _mask_cpus(flavor, mask, REALTIME_MASK)
    if cpus is None or not is_true(flavor.specs.get(REALTIME)):
        return
    if not cpus:
        yield (
            REALTIME_MASK,
            _(
                "{realtime_mask}: {mask!r} names none of {vcpus} vCPUs; it must name some.",
                realtime_mask=REALTIME_MASK,
                mask=mask,
                vcpus=flavor.vcpus,
            ),
        )
    elif max(cpus) >= flavor.vcpus:
        yield REALTIME_MASK, _beyond(REALTIME_MASK, max(cpus), flavor.vcpus)
    elif len(cpus) == flavor.vcpus and EMULATOR not in flavor.specs:
        yield (
            REALTIME_MASK,
            _(
                "{realtime_mask}: {mask!r} leaves no vCPU without realtime; that needs {emulator}.",
                realtime_mask=REALTIME_MASK,
                mask=mask,
                emulator=EMULATOR,
            ),
        )


def _hyperthreading(flavor: FlavorFacts) -> Findings:
    """hw:cpu_thread_policy and the trait HW_CPU_HYPERTHREADING say the same: one of them is set."""
    policy = flavor.specs.get(THREADS)
    if policy is not None:
        for key in hyperthreading_keys(flavor.specs):
            yield (
                key,
                _(
                    "{key}: cannot go with {threads}={policy}, which sets the same trait; drop one.",
                    key=key,
                    threads=THREADS,
                    policy=policy,
                ),
            )


def _mask_cpus(flavor: FlavorFacts, mask: str | None, key: str) -> frozenset[int] | None:
    # A flavor larger than any mask can name is not counted out CPU by CPU.
    if mask is None or flavor.vcpus > MAX_CPU + 1:
        return None
    return parse_mask(mask, flavor.vcpus, key)


def _beyond(key: str, cpu: int, vcpus: int) -> str:
    return _(
        "{key}: names CPU {cpu}; the flavor's {vcpus} vCPUs are 0 to {vcpus_2}.",
        key=key,
        cpu=cpu,
        vcpus=vcpus,
        vcpus_2=vcpus - 1,
    )


CPU_CONTRADICTIONS: tuple[Contradiction, ...] = (
    _explicit_cpus,
    _pcpu_amount,
    _shared,
    _masked_policies,
    _dedicated_mask,
    _realtime,
    _hyperthreading,
)
