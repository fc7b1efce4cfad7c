"""Which CPU a guest gets of what its host gives, and which traits the host has of it."""

from dataclasses import replace

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.cpu_options import CpuFlag, CpuMode
from computeagent.drivers.libvirt.capabilities import CPU_TRAITS, traits_of
from computeagent.drivers.libvirt.guest_cpu import (
    CpuModel,
    HostCpus,
    cpu_of_guest,
    features_of_guests,
    guest_cpu_report,
    traits_required,
)
from computeagent.protocol.hosts import GuestCpuReport
from computeagent.protocol.steps import FailureClass, HostBlame

OLD = CpuModel("Nehalem", frozenset({"sse4.2", "ssse3"}))
NEW = CpuModel("Haswell", frozenset({"sse4.2", "ssse3", "avx2", "aes"}))
CUSTOM = HostCpus(CpuMode.CUSTOM, models=(OLD, NEW))
AES, AVX2, SSE42 = "HW_CPU_X86_AESNI", "HW_CPU_X86_AVX2", "HW_CPU_X86_SSE42"
AES_ON, AES_OFF = CpuFlag("aes"), CpuFlag("aes", is_on=False)


def reported(cpus: HostCpus) -> set[str]:
    return set(traits_of("x86_64", features_of_guests(cpus))) & set(CPU_TRAITS.values())


@pytest.mark.parametrize(
    ("flags", "required", "model"),
    [
        ((), (), "Nehalem"),
        ((), (SSE42,), "Nehalem"),
        ((), (AVX2,), "Haswell"),
        ((), (SSE42, AES), "Haswell"),
        ((AES_ON,), (SSE42, AES), "Nehalem"),
        ((AES_ON,), (AVX2, AES), "Haswell"),
    ],
)
def test_guest_gets_the_first_model_that_has_what_it_requires(
    flags: tuple[CpuFlag, ...], required: tuple[str, ...], model: str
) -> None:
    assert cpu_of_guest(replace(CUSTOM, flags=flags), frozenset(required)).model == model


@pytest.mark.parametrize(
    ("cpus", "required"),
    [
        (CUSTOM, "HW_CPU_X86_AVX512F"),
        (replace(CUSTOM, flags=(AES_OFF,)), AES),
        (replace(CUSTOM, models=(CpuModel("Nehalem"),)), SSE42),
    ],
)
def test_guest_that_no_model_serves_may_be_built_elsewhere(cpus: HostCpus, required: str) -> None:
    with pytest.raises(DriverError, match=f"no CPU model of this host has {required}; it gives Nehalem") as refused:
        cpu_of_guest(cpus, frozenset({required}))
    assert (refused.value.failure_class, refused.value.blame) == (FailureClass.HOST, HostBlame.NEVER)


def test_hosts_of_one_cpu_give_it_to_all_guests() -> None:
    cpu = cpu_of_guest(HostCpus(CpuMode.HOST_MODEL, flags=(AES_ON,)), frozenset({AVX2}))

    assert (cpu.mode, cpu.model, cpu.flags, cpu.check) == (CpuMode.HOST_MODEL, "", (AES_ON,), "partial")


@pytest.mark.parametrize(
    ("flags", "given"),
    [((), (("la57", False),)), ((CpuFlag("la57"),), (("la57", True),)), ((AES_ON,), (("aes", True), ("la57", False)))],
)
def test_emulated_guests_have_no_deep_paging_unless_their_operator_says_so(
    flags: tuple[CpuFlag, ...], given: tuple[tuple[str, bool], ...]
) -> None:
    cpu = cpu_of_guest(HostCpus(CpuMode.MAXIMUM, flags=flags, is_emulated=True), frozenset())

    assert tuple((flag.name, flag.is_on) for flag in cpu.flags) == given
    assert cpu.check == "none"


def test_host_has_the_traits_of_what_its_guests_can_have() -> None:
    assert reported(CUSTOM) == {SSE42, "HW_CPU_X86_SSSE3", AVX2, AES}
    assert reported(replace(CUSTOM, models=(OLD,))) == {SSE42, "HW_CPU_X86_SSSE3"}
    assert reported(replace(CUSTOM, models=(OLD,), flags=(AES_ON,))) == {SSE42, "HW_CPU_X86_SSSE3", AES}
    assert reported(replace(CUSTOM, flags=(AES_OFF,))) == {SSE42, "HW_CPU_X86_SSSE3", AVX2}
    of_host = HostCpus(CpuMode.HOST_PASSTHROUGH, features=frozenset({"aes", "avx2", "unheard-of"}))
    assert reported(of_host) == {AES, AVX2}
    assert reported(replace(of_host, flags=(AES_OFF,))) == {AVX2}
    assert reported(HostCpus(CpuMode.MAXIMUM, is_emulated=True)) == set()


def test_traits_are_those_that_flavor_and_image_require_of_the_cpu() -> None:
    specs = {
        f"trait:{AES}": "required",
        f"trait_CPU:{SSE42}": "required",
        f"trait:{AVX2}": "forbidden",
        "trait:CUSTOM_GOLD": "required",
        "trait:HW_CPU_X86_AMD_SEV": "required",
        f"hw:{AVX2}": "required",
    }

    assert traits_required(specs, {"trait:HW_CPU_X86_BMI2": "required"}) == {AES, SSE42, "HW_CPU_X86_BMI2"}


def test_host_says_what_it_gives() -> None:
    assert guest_cpu_report(replace(CUSTOM, flags=(AES_ON, CpuFlag("mpx", is_on=False)))) == GuestCpuReport(
        "custom", ("Nehalem", "Haswell"), ("+aes", "-mpx")
    )
