"""What is in a guest's memory is saved, what is in a device of its host is not."""

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.domains import domain_save
from computeagent.protocol.steps import FailureClass

pytestmark = pytest.mark.libvirt
DISK = "<disk type='file'/>"
PCI = "<hostdev mode='subsystem' type='pci' managed='yes'/>"
VGPU = "<hostdev mode='subsystem' type='mdev' model='vfio-pci'/>"
CARD = "<interface type='hostdev' managed='yes'/>"
PLAIN_CARD = "<interface type='bridge'/>"


class Domain:
    """One that runs, with these devices."""

    def __init__(self, *devices: str) -> None:
        self.devices, self.is_saved = devices, False

    def state(self) -> list[int]:
        return [1, 1]

    def isActive(self) -> bool:  # noqa: N802 - libvirt's name
        return True

    def XMLDesc(self, _flags: int) -> str:  # noqa: N802
        return f"<domain><devices>{''.join(self.devices)}</devices></domain>"

    def managedSave(self) -> None:  # noqa: N802
        self.is_saved = True


def test_memory_is_saved() -> None:
    domain = Domain(DISK, PLAIN_CARD)
    domain_save(domain)
    assert domain.is_saved


@pytest.mark.parametrize("device", [PCI, VGPU, CARD], ids=["pci", "mediated", "card"])
def test_guest_with_a_device_of_its_host_runs_on(device: str) -> None:
    domain = Domain(DISK, device)
    with pytest.raises(DriverError, match="device of its host, whose state cannot be saved") as refused:
        domain_save(domain)
    assert refused.value.failure_class is FailureClass.USER
    assert not domain.is_saved
