"""What a viewer that may only look may say in the RFB protocol (RFC 6143): nothing that a guest would feel.

Messages from viewer to server are told apart by their first byte; keys, pointer and clipboard are left out, and so is
whatever is not known, since its length is not.
"""

from collections.abc import Callable

VERSION_BYTES, SECURITY_BYTES, INIT_BYTES = 12, 1, 1
SHARED = b"\x01"
"""ClientInit: others may look at the same time, which one who only looks always lets them."""
_MAX_WAITING_BYTES = 2**16


class RfbRefused(Exception):
    """The viewer said what is not known."""


def _fixed(length: int) -> Callable[[bytes], int]:
    return lambda _: length


def _counted(at: int, size: int, head: int, each: int) -> Callable[[bytes], int]:
    """The length of a message whose number of entries stands `at`, in `size` bytes, behind `head` bytes."""

    def length(data: bytes) -> int:
        return head + each * int.from_bytes(data[at : at + size], "big") if len(data) >= at + size else 0

    return length


def _cut_text(data: bytes) -> int:
    """Of the extended clipboard the length is below zero: viewers answer with such a message what of it they can do."""
    return 8 + abs(int.from_bytes(data[4:8], "big", signed=True)) if len(data) >= 8 else 0


# First byte -> how long the message is (0: more bytes are needed to know), and whether it is passed on.
_MESSAGES: dict[int, tuple[Callable[[bytes], int], bool]] = {
    0: (_fixed(20), True),  # SetPixelFormat
    2: (_counted(2, 2, 4, 4), True),  # SetEncodings
    3: (_fixed(10), True),  # FramebufferUpdateRequest
    4: (_fixed(8), False),  # KeyEvent
    5: (_fixed(6), False),  # PointerEvent
    6: (_cut_text, False),  # ClientCutText
    150: (_fixed(10), True),  # EnableContinuousUpdates
    248: (_counted(8, 1, 9, 1), True),  # ClientFence
    250: (_fixed(4), False),  # xvp: reboot and the like
    251: (_counted(6, 1, 8, 16), False),  # SetDesktopSize
}
_QEMU = 255
_QEMU_MESSAGES: dict[int, tuple[Callable[[bytes], int], bool]] = {0: (_fixed(12), False)}  # extended key event


class ViewOnly:
    """One viewer's side of the conversation."""

    def __init__(self) -> None:
        self._waiting = b""
        self._handshake = [VERSION_BYTES, SECURITY_BYTES, INIT_BYTES]

    def passed(self, data: bytes) -> bytes:
        """What of all that came until now is passed on. Raises RfbRefused."""
        self._waiting += data
        out = bytearray()
        while self._waiting:
            length, is_passed = self._next()
            if not length or len(self._waiting) < length:
                if len(self._waiting) > _MAX_WAITING_BYTES or length > _MAX_WAITING_BYTES:
                    raise RfbRefused(f"a message of {length} bytes")
                break
            message, self._waiting = self._waiting[:length], self._waiting[length:]
            if is_passed:
                out += message
        return bytes(out)

    def _next(self) -> tuple[int, bool]:
        """How long the next message is, 0 where that is not known yet, and whether it is passed on."""
        if self._handshake:
            length = self._handshake[0]
            if len(self._waiting) >= length:
                self._handshake.pop(0)
                if not self._handshake:
                    self._waiting = SHARED + self._waiting[1:]
            return length, True
        kind, table = self._waiting[0], _MESSAGES
        if kind == _QEMU:
            if len(self._waiting) < 2:
                return 0, False
            kind, table = self._waiting[1], _QEMU_MESSAGES
        if kind not in table:
            raise RfbRefused(f"a message of type {kind}")
        length_of, is_passed = table[kind]
        return length_of(self._waiting), is_passed
