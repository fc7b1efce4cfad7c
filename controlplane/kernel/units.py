"""Units: memory and disk are binary (MiB, GiB) everywhere; names carry them.

The texts of amounts are made here and nowhere else: for pages, and for the sentences of the scheduler.
"""

from controlplane.kernel.texts import Phrase, gettext_noop

MIB = 2**20
GIB = 2**30
# Above this, memory reads better in GiB, also where it is no whole number of them.
MIB_SHOWN_UP_TO = 8191
# And above this in TiB.
GIB_SHOWN_UP_TO = 10_239
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_MEMORY = frozenset({"MEMORY_MB", "MiB"})
_DISK = frozenset({"DISK_GB", "GiB"})
_WORDS = {
    "VCPU": "{amount} vCPU",
    "MEMORY_MB": gettext_noop("{amount} of memory"),
    "DISK_GB": gettext_noop("{amount} of disk"),
}


def bytes_to_gib_up(size_bytes: int) -> int:
    """Whole GiB that hold `size_bytes`."""
    return -(-size_bytes // GIB)


def mib_text(value: int) -> str:
    """Memory: '640 MiB', '1,900 MiB', '4.5 GiB', '255.3 GiB', '12 TiB'."""
    if abs(value) < 1024 or (value % 512 and abs(value) <= MIB_SHOWN_UP_TO):
        return f"{value:,} MiB"
    return _gib(value / 1024)


def gib_text(value: int) -> str:
    """Disk: '20 GiB', '2,000 GiB', '12.5 TiB'."""
    return _gib(value)


def bytes_text(value: float) -> str:
    """'0 B', '640 MiB', '2.5 GiB'."""
    size, unit = float(value), 0
    while size >= 1024 and unit < len(_BYTES) - 1:
        size, unit = size / 1024, unit + 1
    return f"{_decimal(size)} {_BYTES[unit]}"


def amount_text(value: int, resource_class: str) -> str:
    """An amount of a resource class, or of a quota's unit, with its unit: '4', '640 MiB', '2,000 GiB'."""
    if resource_class in _MEMORY:
        return mib_text(value)
    return gib_text(value) if resource_class in _DISK else f"{value:,}"


def amount_words(value: int, resource_class: str) -> Phrase:
    """The amount and what it is of, a phrase: '2 vCPU', '4 GiB of memory', '1 VGPU'."""
    template = _WORDS.get(resource_class, "{amount} {resource}")
    return Phrase(template, amount=amount_text(value, resource_class), resource=resource_class)


def size_text(*, vcpus: int, memory_mib: int, root_gib: int) -> Phrase:
    """The size of a flavor or an instance, a phrase: '2 vCPU, 4 GiB memory, 20 GiB disk'."""
    memory, disk = mib_text(memory_mib), gib_text(root_gib)
    if not root_gib:
        return Phrase(gettext_noop("{vcpus:,} vCPU, {memory} memory, disk of the image"), vcpus=vcpus, memory=memory)
    template = gettext_noop("{vcpus:,} vCPU, {memory} memory, {disk} disk")
    return Phrase(template, vcpus=vcpus, memory=memory, disk=disk)


def _gib(value: float) -> str:
    if abs(value) > GIB_SHOWN_UP_TO:
        return f"{_decimal(value / 1024)} TiB"
    return f"{_decimal(value)} GiB"


def _decimal(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")
