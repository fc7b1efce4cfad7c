"""The operator's CPUs held to what libvirt's documents say that a host can give."""

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.cpu_options import CpuMode, CpuOptions
from computeagent.drivers.libvirt.host_cpus import cpu_mode_of, cpus_offered, features_required, models_found

OFFERED = cpus_offered(
    """<domainCapabilities><cpu>
<mode name='host-passthrough' supported='no'/><mode name='host-model' supported='yes'>
<model fallback='forbid'>EPYC</model><feature policy='require' name='la57'/></mode>
<mode name='custom' supported='yes'><model usable='yes'>qemu64</model><model usable='no'>Haswell</model>
<model usable='unknown'>Nehalem</model></mode></cpu></domainCapabilities>"""
)
NOTHING = cpus_offered("<domainCapabilities/>")
CUSTOM = CpuOptions(CpuMode.CUSTOM, ("qemu64",))


def test_models_are_found_in_their_order_by_libvirts_spelling() -> None:
    assert models_found(("nehalem", "QEMU64"), OFFERED) == ("Nehalem", "qemu64")


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        (("Nehalme",), "cpu_models: libvirt has no Nehalme here; it can give Nehalem, qemu64"),
        (("qemu64", "haswell"), "cpu_models: this host cannot give Haswell; it can give Nehalem, qemu64"),
        (("Haswell", "x", "y"), "libvirt has no x, y here and this host cannot give Haswell"),
    ],
)
def test_model_that_cannot_be_had_is_refused_with_those_that_can(models: tuple[str, ...], reason: str) -> None:
    with pytest.raises(DriverError, match=reason):
        models_found(models, OFFERED)


def test_where_libvirt_does_not_say_models_are_taken_as_they_are() -> None:
    assert models_found(("anything",), None) == ("anything",)
    assert models_found(("anything",), NOTHING) == ("anything",)


def test_mode_by_default_is_the_hosts_cpu_where_there_is_kvm() -> None:
    assert cpu_mode_of(CpuOptions(), None, is_emulated=False) is CpuMode.HOST_PASSTHROUGH
    assert cpu_mode_of(CpuOptions(), OFFERED, is_emulated=True) is CpuMode.MAXIMUM
    assert cpu_mode_of(CUSTOM, OFFERED, is_emulated=True) is CpuMode.CUSTOM


@pytest.mark.parametrize("mode", [CpuMode.HOST_PASSTHROUGH, CpuMode.HOST_MODEL])
def test_emulated_guests_never_have_the_hosts_cpu(mode: CpuMode) -> None:
    with pytest.raises(DriverError, match=f"cpu_mode {mode} needs KVM.*use custom with cpu_models, or maximum"):
        cpu_mode_of(CpuOptions(mode), None, is_emulated=True)


def test_mode_that_libvirt_has_not_is_refused_with_those_that_it_has() -> None:
    with pytest.raises(DriverError, match="host-passthrough cannot be had of libvirt here; it has host-model, custom"):
        cpu_mode_of(CpuOptions(CpuMode.HOST_PASSTHROUGH), OFFERED, is_emulated=False)
    # One that an older libvirt does not name is its own to judge.
    assert cpu_mode_of(CpuOptions(CpuMode.MAXIMUM), OFFERED, is_emulated=False) is CpuMode.MAXIMUM


def test_features_that_the_host_lacks_are_none_of_the_model() -> None:
    text = "<cpu><model>x</model><feature policy='require' name='aes'/><feature policy='disable' name='hle'/></cpu>"

    assert features_required(text) == {"aes"}
