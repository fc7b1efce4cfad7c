"""A guest of 512 bytes: a boot sector that writes a text to COM1 and halts. For tests."""

_CODE = bytes(
    [
        0xFA,  # cli
        0x31, 0xC0,  # xor ax, ax
        0x8E, 0xD8,  # mov ds, ax
        0xBE, 0x1D, 0x7C,  # mov si, 0x7c1d       the text, right after this code
        0xBA, 0xFD, 0x03,  # mov dx, 0x3fd        COM1 line status  # next:
        0xEC,  # in al, dx                         # wait:
        0xA8, 0x20,  # test al, 0x20               room for a byte?
        0x74, 0xFB,  # jz wait
        0xAC,  # lodsb
        0x84, 0xC0,  # test al, al
        0x74, 0x05,  # jz end
        0xB2, 0xF8,  # mov dl, 0xf8                COM1 data
        0xEE,  # out dx, al
        0xEB, 0xEE,  # jmp next
        0xF4,  # hlt                               # end:
        0xEB, 0xFD,  # jmp end
    ]
)  # fmt: skip
SECTOR_BYTES = 512


def boot_sector(text: str) -> bytes:
    """The sector. Raises ValueError when `text` does not fit or is not ASCII."""
    return sector_of(_CODE, text)


def sector_of(code: bytes, text: str) -> bytes:
    """A bootable sector of this code and, right after it, a text for it to say. Raises ValueError as `boot_sector`."""
    body = code + text.encode("ascii") + b"\0"
    if len(body) > SECTOR_BYTES - 2:
        raise ValueError(f"{len(text)} characters do not fit a boot sector")
    return body.ljust(SECTOR_BYTES - 2, b"\0") + b"\x55\xaa"
