"""What a device profile may say, and what a flavor that asks for it then asks for."""

import pytest

from servers.catalog.domain.device_profiles import device_profile_expanded, device_profile_problems

NICS = {"pci_passthrough:alias": "nic:2"}
GPU = {"resources:VGPU": "1", "trait:CUSTOM_NVIDIA_35": "required"}


def test_flavor_asks_for_what_its_profile_says_beside_its_own() -> None:
    specs = device_profile_expanded(
        {"accel:device_profile": "ai", "pci_passthrough:alias": "disk:1", "hw:cpu_policy": "shared"}, [NICS, GPU]
    )
    assert specs == {
        "accel:device_profile": "ai",
        "hw:cpu_policy": "shared",
        "pci_passthrough:alias": "disk:1,nic:2",
        "resources_accel1:VGPU": "1",
        "trait_accel1:CUSTOM_NVIDIA_35": "required",
        "group_policy": "none",
    }


def test_flavor_without_a_profile_stays_as_it_is() -> None:
    assert device_profile_expanded({"hw:cpu_policy": "shared"}, []) == {"hw:cpu_policy": "shared"}


def test_flavor_that_says_how_groups_lie_is_believed() -> None:
    assert device_profile_expanded({"group_policy": "isolate"}, [GPU, GPU])["group_policy"] == "isolate"


def test_good_profile() -> None:
    assert device_profile_problems(name="ai", description="", groups=[NICS, GPU]) == {}


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ([], "at least one group"),
        ("gpu", "at least one group"),
        ([NICS] * 17, "at most 16"),
        (["gpu"], "must be an object of texts"),
        ([{"resources:VGPU": 1}], "must be an object of texts"),
        ([{"resources:FPGA": "1"}], "either pci_passthrough:alias alone"),
        ([{**NICS, **GPU}], "either|is not a trait"),
        ([{"pci_passthrough:alias": "nic"}], "must be name:count"),
        ([{"pci_passthrough:alias": "nic:0"}], "must be name:count"),
        ([{"pci_passthrough:alias": "nic:1,disk:2"}], "must be name:count"),
        ([{"resources:VGPU": "0"}], "from 1 to 32"),
        ([{"resources:VGPU": "٣"}], "from 1 to 32"),
        ([{"resources:VGPU": "1", "trait:lower": "required"}], "is not a trait"),
        ([{"resources:VGPU": "1", "trait:CUSTOM_A": "maybe"}], "is not a trait"),
        ([{"resources:VGPU": "1", "accel:bitstream_id": "7"}], "is not a trait"),
    ],
)
def test_what_is_wrong_is_said(groups: object, reason: str) -> None:
    problems = device_profile_problems(name="ai", description="", groups=groups)
    assert set(problems) == {"groups"}
    assert any(part in problems["groups"][0] for part in reason.split("|"))
