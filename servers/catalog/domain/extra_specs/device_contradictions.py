"""Devices and the guest's view of its CPUs: what no image can mend."""

from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.extra_specs.facts import Contradiction, Findings, FlavorFacts

CPU_PARTS_MAX = 65536
"""The most sockets, cores and threads where nothing is said (Nova's default)."""


def _tpm(flavor: FlavorFacts) -> Findings:
    """A TPM tpm-crb has version 2.0."""
    if flavor.specs.get("hw:tpm_model") == "tpm-crb" and flavor.specs.get("hw:tpm_version") == "1.2":
        yield "hw:tpm_model", _("hw:tpm_model: tpm-crb goes with hw:tpm_version=2.0 only, and that is 1.2.")


def _cpu_shape(flavor: FlavorFacts) -> Findings:
    """Some sockets, cores and threads within hw:cpu_max_* make the vCPUs."""
    keys = [f"hw:cpu_max_{part}" for part in ("sockets", "cores", "threads")]
    given = [key for key in keys if key in flavor.specs]
    if not given or flavor.vcpus > CPU_PARTS_MAX:
        return
    sockets, cores, threads = (int(flavor.specs.get(key, CPU_PARTS_MAX)) for key in keys)
    if not shape_exists(flavor.vcpus, sockets, cores, threads):
        maxima = ", ".join(f"{key}={flavor.specs[key]}" for key in given)
        yield (
            given[0],
            _(
                "{given}: no sockets, cores and threads within {maxima} make {vcpus} vCPUs.",
                given=given[0],
                maxima=maxima,
                vcpus=flavor.vcpus,
            ),
        )


def shape_exists(vcpus: int, sockets: int, cores: int, threads: int) -> bool:
    """Whether s * c * t = vcpus for some s, c and t from 1 to these maxima."""
    return any(
        vcpus % s == 0 and any(vcpus // s % c == 0 and vcpus // s // c <= threads for c in _upto(cores, vcpus // s))
        for s in _upto(sockets, vcpus)
    )


def _upto(maximum: int, size: int) -> range:
    return range(1, min(maximum, size) + 1)


DEVICE_CONTRADICTIONS: tuple[Contradiction, ...] = (_tpm, _cpu_shape)
