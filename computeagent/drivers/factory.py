"""From a URI to a driver: `fake:///`, `test:///...`, `qemu:///...`."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from computeagent.drivers.base import Driver, DriverError
from computeagent.drivers.fake import FakeDriver
from computeagent.drivers.fake_hardware import FakeSizes
from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.drivers.libvirt.host_profile import SizeOverrides
from computeagent.networks.places.place import HypervisorPlace

NO_OPTIONS = HostOptions()
MAX_FAKE_PARTS = 64
SCHEMES = ("fake", "test", "qemu", "qemu+ssh", "qemu+tls", "qemu+tcp", "qemu+unix")


def driver_open(
    uri: str,
    state_dir: Path,
    hostname: str,
    *,
    vcpus: int | None = None,
    memory_mib: int | None = None,
    disk_gib: int | None = None,
    shared_dir: Path | None = None,
    has_nat_network: bool = False,
    host_ip: str = "127.0.0.1",
    options: HostOptions = NO_OPTIONS,
    place: HypervisorPlace | None = None,
) -> Driver:
    """The opened driver of `uri`. Sizes given here are reported instead of the hypervisor's own;
    `shared_dir` is for the drivers of one machine to share base images and what they learnt of it; `options` are
    what the operator sets aside of the machine, `place` is where a private hypervisor's networks are.

    `fake:///?latency_s=0.1&memory=1` is the in-memory driver; it keeps its guests in `state_dir` unless `memory=1`.
    `numa_cells`, `threads`, `gpus` and `nics` make its machine other than FakeSizes says.
    Raises DriverError that says what is wrong with the URI, missing on the machine, or not answering.
    """
    scheme = urlsplit(uri).scheme
    if scheme not in SCHEMES:
        raise DriverError(f"{uri!r} is no hypervisor: the URI begins with one of {', '.join(SCHEMES)}")
    overrides = SizeOverrides(vcpus=vcpus, memory_mib=memory_mib, disk_gib=disk_gib)
    driver: Driver
    if scheme == "fake":
        driver = _fake(uri, state_dir, hostname, overrides, options)
    else:
        driver = LibvirtDriver(
            uri,
            state_dir,
            hostname,
            overrides=overrides,
            shared_dir=shared_dir,
            has_nat_network=has_nat_network,
            host_ip=host_ip,
            options=options,
            place=place,
        )
    driver.open()
    return driver


def _fake(uri: str, state_dir: Path, hostname: str, overrides: SizeOverrides, options: HostOptions) -> FakeDriver:
    query = {name: values[0] for name, values in parse_qs(urlsplit(uri).query).items()}
    sizes = FakeSizes()
    try:
        latency_s = float(query.get("latency_s", "0"))
    except ValueError as error:
        raise DriverError(f"{uri}: latency_s must be a number of seconds") from error
    return FakeDriver(
        hostname,
        sizes=FakeSizes(
            vcpus=sizes.vcpus if overrides.vcpus is None else overrides.vcpus,
            memory_mib=sizes.memory_mib if overrides.memory_mib is None else overrides.memory_mib,
            disk_gib=sizes.disk_gib if overrides.disk_gib is None else overrides.disk_gib,
            numa_cells=_amount(uri, query, "numa_cells", sizes.numa_cells, minimum=0),
            threads=_amount(uri, query, "threads", sizes.threads, minimum=1),
            gpus=_amount(uri, query, "gpus", sizes.gpus, minimum=0),
            vgpus=_amount(uri, query, "vgpus", sizes.vgpus, minimum=0),
            nics=_amount(uri, query, "nics", sizes.nics, minimum=0),
        ),
        latency_s=latency_s,
        state_file=None if query.get("memory") == "1" else state_dir / "fake_guests.json",
        options=options,
    )


def _amount(uri: str, query: dict[str, str], name: str, default: int, *, minimum: int) -> int:
    text = query.get(name, str(default))
    if not (text.isascii() and text.isdecimal()) or not minimum <= int(text) <= MAX_FAKE_PARTS:
        raise DriverError(f"{uri}: {name} must be a whole number from {minimum} to {MAX_FAKE_PARTS}")
    return int(text)
