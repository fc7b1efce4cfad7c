"""A viewer that may only look: what it says in the RFB protocol and a guest would feel is left out."""

import pytest

from controlplane.launcher.web.rfb import RfbRefused, ViewOnly

HELLO = b"RFB 003.008\n" + b"\x01"
PIXELS = b"\x00" + bytes(19)
ENCODINGS = b"\x02\x00\x00\x02" + bytes(8)
UPDATE = b"\x03" + bytes(9)
KEY, POINTER = b"\x04" + bytes(7), b"\x05" + bytes(5)
CUT = b"\x06\x00\x00\x00\x00\x00\x00\x03abc"
# Of the extended clipboard: a negative length, as viewers answer QEMU with what of it they can do.
CAPS = b"\x06\x00\x00\x00" + (-8).to_bytes(4, "big", signed=True) + b"\x1f\x00\x00\x01" + bytes(4)
QEMU_KEY = b"\xff\x00" + bytes(10)
RESIZE = b"\xfb\x00" + bytes(4) + b"\x01\x00" + bytes(16)


def looks() -> ViewOnly:
    viewer = ViewOnly()
    assert viewer.passed(HELLO + b"\x00") == HELLO + b"\x01"
    return viewer


def test_it_always_lets_others_look_too() -> None:
    looks()


@pytest.mark.parametrize("message", [KEY, POINTER, CUT, CAPS, QEMU_KEY, RESIZE, b"\xfa\x00\x01\x02"])
def test_what_a_guest_feels_is_left_out(message: bytes) -> None:
    assert looks().passed(UPDATE + message + PIXELS) == UPDATE + PIXELS


@pytest.mark.parametrize("step", [1, 2, 7])
def test_pieces_of_any_size_are_the_same(step: int) -> None:
    viewer, said = ViewOnly(), HELLO + b"\x00" + ENCODINGS + KEY + UPDATE + CUT + CAPS + POINTER + PIXELS
    pieces = [viewer.passed(said[at : at + step]) for at in range(0, len(said), step)]
    assert b"".join(pieces) == HELLO + b"\x01" + ENCODINGS + UPDATE + PIXELS


ENDLESS = [b"\x06\x00\x00\x00\x7f\xff\xff\xff", b"\x06\x00\x00\x00\x80\x00\x00\x00"]


@pytest.mark.parametrize("message", [b"\x63", b"\xff\x01", *ENDLESS])
def test_what_is_unknown_or_endless_is_refused(message: bytes) -> None:
    with pytest.raises(RfbRefused):
        looks().passed(message)
