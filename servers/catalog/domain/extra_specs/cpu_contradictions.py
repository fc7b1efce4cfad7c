"""Keys about CPUs that cannot go together. Each rule is one by which Nova refuses every boot of such a flavor.

What an image could still mend is left to the boot: an image may say which CPU policy it wants where the flavor is
silent, so a thread policy alone is fine here.
"""

from controlplane.kernel.booleans import is_true
from controlplane.kernel.cpu_list import MAX_CPU, parse_mask
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
            yield key, f"{key}: cannot go with {POLICY}={policy}, which sets how many CPUs of which kind; drop one."
    if vcpu and pcpu:
        yield pcpu[0], f"{pcpu[0]}: cannot go with {vcpu[0]}; for CPUs of both kinds there is {POLICY}=mixed."


def _pcpu_amount(flavor: FlavorFacts) -> Findings:
    """resources:PCPU is the number of vCPUs, and one more with hw:emulator_threads_policy=isolate."""
    keys = explicit_cpu_keys(flavor.specs, "PCPU")
    asked, isolated = explicit_cpus(flavor.specs, "PCPU"), flavor.specs.get(EMULATOR) == "isolate"
    wanted = flavor.vcpus + (1 if isolated else 0)
    if keys and asked != wanted:
        why = f"the flavor's {flavor.vcpus} vCPUs" + (f" and one for {EMULATOR}=isolate" if isolated else "")
        yield keys[0], f"{keys[0]}: asks for {asked} dedicated CPUs; it must be {wanted}, {why}."


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
            yield key, f"{key}: needs dedicated CPUs, and {because} shares them all."


def _masked_policies(flavor: FlavorFacts) -> Findings:
    """hw:cpu_dedicated_mask goes with the policy mixed alone, which needs it or hw:cpu_realtime, not both."""
    policy, has_mask = settled_cpu_policy(flavor.specs), DEDICATED_MASK in flavor.specs
    if policy == "dedicated" and has_mask:
        yield DEDICATED_MASK, f"{DEDICATED_MASK}: goes with {POLICY}=mixed only; here all CPUs are dedicated."
    realtime = is_true(flavor.specs.get(REALTIME))
    if has_mask and realtime:
        yield DEDICATED_MASK, f"{DEDICATED_MASK}: cannot go with {REALTIME}: each says which CPUs are dedicated."
    if policy == "mixed" and not has_mask and not realtime:
        yield POLICY, f"{POLICY}: mixed needs {DEDICATED_MASK} or {REALTIME} to say which CPUs are dedicated."


def _dedicated_mask(flavor: FlavorFacts) -> Findings:
    """hw:cpu_dedicated_mask names some vCPUs of the flavor and leaves some."""
    mask = flavor.specs.get(DEDICATED_MASK)
    cpus = _mask_cpus(flavor, mask, DEDICATED_MASK)
    if cpus is None:
        return
    if not cpus or len(cpus & set(range(flavor.vcpus))) == flavor.vcpus:
        sentence = "all" if cpus else "none"
        yield DEDICATED_MASK, f"{DEDICATED_MASK}: {mask!r} names {sentence} of {flavor.vcpus} vCPUs; it must name some."
    elif max(cpus) >= flavor.vcpus:
        yield DEDICATED_MASK, _beyond(DEDICATED_MASK, max(cpus), flavor.vcpus)


def _realtime(flavor: FlavorFacts) -> Findings:
    """hw:cpu_realtime_mask names vCPUs of the flavor; all of them only with hw:emulator_threads_policy."""
    mask = flavor.specs.get(REALTIME_MASK)
    cpus = _mask_cpus(flavor, mask, REALTIME_MASK)
    if cpus is None or not is_true(flavor.specs.get(REALTIME)):
        return
    if not cpus:
        yield REALTIME_MASK, f"{REALTIME_MASK}: {mask!r} names none of {flavor.vcpus} vCPUs; it must name some."
    elif max(cpus) >= flavor.vcpus:
        yield REALTIME_MASK, _beyond(REALTIME_MASK, max(cpus), flavor.vcpus)
    elif len(cpus) == flavor.vcpus and EMULATOR not in flavor.specs:
        yield REALTIME_MASK, f"{REALTIME_MASK}: {mask!r} leaves no vCPU without realtime; that needs {EMULATOR}."


def _hyperthreading(flavor: FlavorFacts) -> Findings:
    """hw:cpu_thread_policy and the trait HW_CPU_HYPERTHREADING say the same: one of them is set."""
    policy = flavor.specs.get(THREADS)
    if policy is not None:
        for key in hyperthreading_keys(flavor.specs):
            yield key, f"{key}: cannot go with {THREADS}={policy}, which sets the same trait; drop one."


def _mask_cpus(flavor: FlavorFacts, mask: str | None, key: str) -> frozenset[int] | None:
    # A flavor larger than any mask can name is not counted out CPU by CPU.
    if mask is None or flavor.vcpus > MAX_CPU + 1:
        return None
    return parse_mask(mask, flavor.vcpus, key)


def _beyond(key: str, cpu: int, vcpus: int) -> str:
    return f"{key}: names CPU {cpu}; the flavor's {vcpus} vCPUs are 0 to {vcpus - 1}."


CPU_CONTRADICTIONS: tuple[Contradiction, ...] = (
    _explicit_cpus,
    _pcpu_amount,
    _shared,
    _masked_policies,
    _dedicated_mask,
    _realtime,
    _hyperthreading,
)
