"""What an operator sets aside: from options, settings and device specs."""

from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.conf import HostSettings
from computeagent.daemon.arguments import ConfigFileParser, agent_arguments_add
from computeagent.daemon.host_settings import host_options, plug_maker
from computeagent.drivers.cpu_options import CpuFlag, CpuMode, CpuOptions
from computeagent.drivers.device_spec import device_specs_of_text, devices_chosen
from computeagent.drivers.host_options import ReservedPages
from computeagent.networks.base import NetworkPlace
from computeagent.networks.bridge.plug import BridgePlug
from computeagent.networks.ovn.plug import OvnPlug
from computeagent.protocol.pci import DeviceType, PciDeviceRecord
from controlplane.kernel.errors import Invalid

NOTHING = HostSettings(image_cache_unused_s=3600.0)
CARD = PciDeviceRecord("0000:81:00.0", "8086", "1572", DeviceType.PF, devname="ens1f0")
FUNCTION = PciDeviceRecord("0000:81:02.1", "8086", "154c", DeviceType.VF, 1, CARD.address, "", "ens1f0")
GPU = PciDeviceRecord("0000:0a:00.0", "10de", "1db6", DeviceType.STANDARD, 0)
ALL = (GPU, CARD, FUNCTION)


def addresses(specs: str) -> list[object]:
    return [device.address for device in devices_chosen(ALL, device_specs_of_text(specs))]


def test_nothing_set_aside_by_default() -> None:
    options = host_options({}, NOTHING)

    assert not options.has_cpu_sets
    assert (options.reserved_pages, options.device_specs, options.unused_images_s) == ((), (), 3600.0)


def test_settings_are_read() -> None:
    options = host_options(
        {},
        replace(
            NOTHING,
            cpu_dedicated_set="2-3",
            cpu_shared_set="0",
            reserved_huge_pages="node:0,size:2048,count:1; node:1,size:2048,count:2",
        ),
    )

    assert (options.cpu_dedicated_set, options.cpu_shared_set) == ({2, 3}, {0})
    assert options.reserved_pages == (ReservedPages(0, 2048, 1), ReservedPages(1, 2048, 2))


def test_option_overrides_its_setting() -> None:
    options = host_options(
        {"cpu_dedicated_set": "5", "cpu_shared_set": "", "reserved_huge_pages": ["node:0,size:4,count:9"]},
        replace(NOTHING, cpu_dedicated_set="2-3", cpu_shared_set="0", reserved_huge_pages="nonsense"),
    )

    assert (options.cpu_dedicated_set, options.cpu_shared_set) == ({5}, set())
    assert options.reserved_pages == (ReservedPages(0, 4, 9),)


def test_cpus_of_guests_are_read_from_settings_and_options() -> None:
    settings = replace(NOTHING, cpu_mode="custom", cpu_models="Haswell,Nehalem", cpu_model_extra_flags="-mpx")

    assert host_options({}, NOTHING).cpu == CpuOptions()
    assert host_options({}, settings).cpu.models == ("Haswell", "Nehalem")
    assert host_options({"cpu_models": "qemu64"}, settings).cpu == CpuOptions(
        CpuMode.CUSTOM, ("qemu64",), (CpuFlag("mpx", is_on=False),)
    )
    with pytest.raises(Invalid, match="cpu_models go with cpu_mode custom alone"):
        host_options({"cpu_mode": "host-model"}, settings)


def test_configuration_file_may_name_flags_that_begin_with_a_minus(tmp_path: Path) -> None:
    file = tmp_path / "agent.conf"
    file.write_text("cpu-mode = custom\ncpu-models = Haswell, Nehalem\ncpu-model-extra-flags = -mpx, +pcid\n")
    parser = ConfigFileParser(prog="agent", description="")
    agent_arguments_add(parser)

    cpu = host_options(vars(parser.parse_args([f"@{file}"])), NOTHING).cpu

    assert (cpu.models, [str(flag) for flag in cpu.flags]) == (("Haswell", "Nehalem"), ["-mpx", "+pcid"])


def test_one_spec_chooses_devices_by_vendor() -> None:
    assert addresses('{"vendor_id": "8086"}') == [CARD.address, FUNCTION.address]


def test_any_of_several_specs_chooses() -> None:
    assert addresses('[{"vendor_id": "10de"}, {"address": "0000:81:02.*"}]') == [GPU.address, FUNCTION.address]


def test_network_name_of_a_card_means_its_functions_too() -> None:
    assert addresses('{"devname": "ens1f0"}') == [CARD.address, FUNCTION.address]


@pytest.mark.parametrize("specs", ["", "  ", "[]"])
def test_no_spec_chooses_nothing(specs: str) -> None:
    assert device_specs_of_text(specs) == ()
    assert addresses(specs) == []


def test_chosen_device_is_reported_with_the_tags_of_its_spec() -> None:
    specs = device_specs_of_text('{"product_id": "154c", "physical_network": "physnet1", "trusted": "yes"}')

    tags = (("physical_network", "physnet1"), ("trusted", "yes"))
    assert devices_chosen(ALL, specs) == (replace(FUNCTION, label="label_8086_154c", tags=tags),)
    assert (FUNCTION.dev_type, FUNCTION.numa_node, FUNCTION.parent_address) == (DeviceType.VF, 1, "0000:81:00.0")


@pytest.mark.parametrize(
    "specs", ["{", "3", '["x"]', '{"vendor_id": "zz"}', '{"devname": "e", "address": "0000:81:00.0"}']
)
def test_specs_that_are_none_are_refused(specs: str) -> None:
    with pytest.raises(Invalid):
        device_specs_of_text(specs)


@pytest.mark.parametrize(("backend", "kind"), [("bridge", BridgePlug), ("ovn", OvnPlug)])
def test_operator_says_what_carries_networks(backend: str, kind: type, tmp_path: Path) -> None:
    settings = HostSettings(network_backend=backend, ovs_database="unix:/run/ovs.sock")
    assert isinstance(plug_maker({"host": "cmp-7"}, settings, tmp_path)(NetworkPlace()), kind)
