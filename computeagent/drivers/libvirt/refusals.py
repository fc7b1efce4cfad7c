"""Whose fault it is that libvirt or QEMU refuses to define or start a guest. Pure, but for `guest_refusals`.

A refusal is the request's where it asks for hardware and the refusal is about hardware. It is this host's, and nobody's
fault, where another version of libvirt, QEMU or another CPU may have what is asked for. Of all else nobody can tell at
the time: it counts against the host only if the guest is then built elsewhere.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import LibvirtError, error_code, error_text
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass, HostBlame

# Of libvirt's virterror.h: what it does not take, whatever the host's state. A test holds the numbers to the binding's.
INTERNAL_ERROR, INVALID_ARG, OPERATION_FAILED, XML_ERROR, XML_DETAIL, CONFIG_UNSUPPORTED, XML_INVALID_SCHEMA = (
    1, 8, 9, 27, 35, 67, 92
)  # fmt: skip
_OF_THE_DEFINITION = frozenset({INVALID_ARG, XML_ERROR, XML_DETAIL, CONFIG_UNSUPPORTED, XML_INVALID_SCHEMA})
_OF_QEMU = frozenset({INTERNAL_ERROR, OPERATION_FAILED})

# QEMU ended before it spoke; what follows is its own words (libvirt's qemuProcessReportLogError).
_ENDED = re.compile(r"process exited while connecting to monitor|unexpectedly closed the monitor")
_LAST_WORDS = re.compile(r"qemu-system-\S+: (?P<said>.*)\Z", re.DOTALL)
_ELSEWHERE = re.compile(
    r"virt(ualization)? type|\bkvm\b|host cpu|cpu model|host doesn't|by (the|this) host"
    r"|(with|by|in|for) (this|the) (QEMU|binary|emulator|libvirt)(?! binary or machine type)"
    r"|unsupported machine type|does not support machine type|not a valid device model name"
    r"|property '?\S+ not found|not compiled",
    re.IGNORECASE,
)
_OF_HARDWARE = re.compile(
    r"\bbus\b|\bbuses\b|-device|-machine|controller|\bIDE\b|\bSATA\b|\bUSB\b|\bPCI\b|\bISA\b|\bSCSI\b|\bfirmware\b"
    r"|machine|\bmodel\b|\bvideo\b|\bsound\b|\binput\b|\bwatchdog\b|\bIOMMU\b|\btpm\b|\bvirtio\b|\bslots?\b|\bserial\b"
    r"|\btimer\b|\bhpet\b|\bdrive\b|\bdisk\b",
    re.IGNORECASE,
)
# Of the host's state, though it may name a device: whatever image or flavor ask for, this is not about it.
_OF_THE_STATE = re.compile(
    r"no space left|cannot allocate|permission denied|input/output error|too many open files|no such file"
    r"|failed to get \"?\w+\"? lock|could not open|cannot open|connection refused|resource busy|vhost",
    re.IGNORECASE,
)
# libvirt's words, and QEMU's for a slot that has a card of which libvirt does not know.
_NO_SLOTS = re.compile(r"No more available PCI|No free USB ports|PCI: slot \d+ function \d+ not available")
_ASKS = ("hw_", "hw:")
_OF_RESCUE = "hw_rescue_"
_MAX_ASKED = 8


@dataclass(frozen=True, slots=True)
class Fault:
    """Whose fault a failure is, and when it counts against the host."""

    failure_class: FailureClass
    blame: HostBlame = HostBlame.NEVER


_UNCLEAR = Fault(FailureClass.HOST, HostBlame.IF_BUILT_ELSEWHERE)
_ANOTHER_MAY = Fault(FailureClass.HOST, HostBlame.NEVER)
_OF_THE_REQUEST = Fault(FailureClass.USER)


def fault_of(code: int | None, sentence: str, *, asks_hardware: bool) -> Fault:
    """Whose fault a refusal with this error code and sentence of libvirt's is."""
    is_definitions = code in _OF_THE_DEFINITION
    is_qemus = code in _OF_QEMU and _ENDED.search(sentence) is not None
    if not asks_hardware or not (is_definitions or is_qemus):
        return _UNCLEAR
    said = _qemus_words(sentence) if is_qemus else sentence
    if _OF_THE_STATE.search(said):
        return _UNCLEAR
    if _ELSEWHERE.search(said):
        return _ANOTHER_MAY
    return _OF_THE_REQUEST if _OF_HARDWARE.search(said) else _UNCLEAR


def has_no_slot(sentence: str) -> bool:
    """Whether libvirt found no place for a device in a guest that runs: of the guest, whatever its host is."""
    return _NO_SLOTS.search(sentence) is not None


def hardware_asked(specs: Mapping[str, str], properties: Mapping[str, str]) -> dict[str, str]:
    """What image and flavor say of hardware, in the order of their keys."""
    pairs = {**specs, **properties}
    return {key: pairs[key] for key in sorted(pairs) if key.startswith(_ASKS)}


@contextmanager
def guest_refusals(guest: GuestSpec, doing: str) -> Iterator[None]:
    """Turn a refusal inside into a DriverError: its message may be read by the owner where it is the request's fault,
    and names no path and nothing of the host; `details` has libvirt's words.
    """
    try:
        yield
    except LibvirtError as error:
        asked = hardware_asked(guest.extra_specs, guest.image_properties | _rescue_asks(guest))
        sentence = error_text(error)
        fault = fault_of(error_code(error), sentence, asks_hardware=bool(asked))
        is_users = fault.failure_class is FailureClass.USER
        raise DriverError(
            _owners_words(asked) if is_users else f"{doing}: {sentence}",
            failure_class=fault.failure_class,
            blame=fault.blame,
            details=sentence,
        ) from error


def _rescue_asks(guest: GuestSpec) -> dict[str, str]:
    """Of the image that a guest is rescued with these alone are heard."""
    if guest.rescue is None:
        return {}
    return {key: value for key, value in guest.rescue.properties.items() if key.startswith(_OF_RESCUE)}


def _owners_words(asked: Mapping[str, str]) -> str:
    shown = [f"{key}={value:.80}" for key, value in asked.items()]
    more = f" and {len(shown) - _MAX_ASKED} more" if len(shown) > _MAX_ASKED else ""
    return f"no guest can have together what image and flavor ask for: {', '.join(shown[:_MAX_ASKED])}{more}"


def _qemus_words(sentence: str) -> str:
    """What QEMU said last; libvirt puts its log before it."""
    found = _LAST_WORDS.search(sentence)
    return found["said"] if found else sentence
