"""Which machine types a host says that it has, out of libvirt's documents."""

import pytest

from computeagent.drivers.libvirt.guest_machines import machine_names, machine_parse
from computeagent.protocol.hosts import MACHINE_NAME_MAX
from computeagent.protocol.wire import encode, verbs
from controlplane.kernel.errors import Invalid

CAPABILITIES = f"""
<capabilities><guest><os_type>hvm</os_type><arch name='i686'><machine>old</machine></arch></guest>
<guest><os_type>hvm</os_type><arch name='x86_64'><machine maxCpus='255'>pc-i440fx-7.2</machine>
<machine canonical='pc-i440fx-7.2'>pc</machine><machine>{"x" * (MACHINE_NAME_MAX + 1)}</machine>
<domain type='kvm'><machine>pc</machine><machine>only-kvm</machine></domain></arch></guest></capabilities>"""
Q35 = """
<domainCapabilities><devices><disk supported='yes'><enum name='bus'><value>virtio</value><value>sata</value></enum>
</disk><video supported='no'><enum name='modelType'><value>vga</value></enum></video></devices></domainCapabilities>"""


def test_each_machine_of_the_architecture_is_named_once() -> None:
    assert machine_names(CAPABILITIES, "x86_64") == ["pc-i440fx-7.2", "pc", "only-kvm"]


def test_machine_has_what_libvirt_says_and_nothing_of_what_is_not_supported() -> None:
    assert machine_parse(Q35) == (("sata", "virtio"), ())
    assert machine_parse("<domainCapabilities/>") == ((), ())


@pytest.mark.parametrize(
    "machines",
    [
        [{"names": ["x" * 65]}],
        [{"names": [str(number) for number in range(257)]}],
        [{"names": ["pc"], "disk_buses": [str(number) for number in range(65)]}],
        [{"names": ["pc"]}] * 33,
    ],
)
def test_report_of_machines_is_bounded(machines: list[dict[str, list[str]]]) -> None:
    report = {
        "hypervisor_hostname": "n", "hypervisor_type": "QEMU", "hypervisor_version": 1, "vcpus": 1, "memory_mib": 1,
        "disk_gib": 1, "machines": machines,
    }  # fmt: skip
    with pytest.raises(Invalid, match="cannot be read"):
        verbs()["register"].arguments_of(encode({"host": "hv", "report": report}))
