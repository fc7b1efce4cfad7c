"""The machine that the fake driver says it runs on: NUMA cells, huge pages, and a few PCI devices."""

from dataclasses import dataclass

from computeagent.drivers.host_cells import MachineCells, evenly
from computeagent.protocol.pci import DeviceType, PciDeviceRecord

HUGE_PAGE_KIB = 2048
GIANT_PAGE_KIB = 1024**2
MIB_PER_GIANT_PAGE = 1024

# A graphics card (NVIDIA V100) and a network card with virtual functions (Intel X710).
GPU = ("10de", "1db6")
NIC = ("8086", "1572")
NIC_FUNCTION = ("8086", "154c")
FUNCTIONS_EACH = 4


@dataclass(frozen=True, slots=True)
class FakeSizes:
    """What the fake host says it has. `gpus` and `nics` are spread over its NUMA cells, one after the other."""

    vcpus: int = 64
    memory_mib: int = 256 * 1024
    disk_gib: int = 2000
    numa_cells: int = 2
    threads: int = 2
    gpus: int = 2
    nics: int = 1
    vgpus: int = 0


def fake_cells(sizes: FakeSizes) -> MachineCells:
    """Equal cells. A quarter of each cell's memory is in pages of 2 MiB, an eighth in pages of 1 GiB."""
    if not sizes.numa_cells:
        return ()
    of_cell = sizes.memory_mib // sizes.numa_cells
    huge = (HUGE_PAGE_KIB, of_cell // 4 // 2), (GIANT_PAGE_KIB, of_cell // 8 // MIB_PER_GIANT_PAGE)
    return evenly(
        sizes.numa_cells, cpus=sizes.vcpus, threads=sizes.threads, memory_mib=sizes.memory_mib, huge_pages=huge
    )


def fake_devices(sizes: FakeSizes) -> tuple[PciDeviceRecord, ...]:
    """Graphics cards on buses 0x10 and up, network cards with their functions on buses 0x80 and up."""
    found = [_standard(GPU, f"0000:{0x10 + at:02x}:00.0", _cell(sizes, at)) for at in range(sizes.gpus)]
    for at in range(sizes.nics):
        found += _nic(f"0000:{0x80 + at:02x}:00", _cell(sizes, at), at)
    return tuple(found)


def _cell(sizes: FakeSizes, at: int) -> int | None:
    return at % sizes.numa_cells if sizes.numa_cells else None


def _standard(kind: tuple[str, str], address: str, cell: int | None) -> PciDeviceRecord:
    return PciDeviceRecord(address, *kind, DeviceType.STANDARD, numa_node=cell)


def _nic(slot: str, cell: int | None, at: int) -> list[PciDeviceRecord]:
    card, name = f"{slot}.0", f"ens{at}"
    functions = [
        PciDeviceRecord(
            f"{slot}.{number}",
            *NIC_FUNCTION,
            DeviceType.VF,
            numa_node=cell,
            parent_address=card,
            devname=f"{name}v{number}",
            parent_devname=name,
        )
        for number in range(1, FUNCTIONS_EACH + 1)
    ]
    return [PciDeviceRecord(card, *NIC, DeviceType.PF, numa_node=cell, devname=name), *functions]
