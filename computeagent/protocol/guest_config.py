"""What a guest is told at its first boot, and what it boots with besides its disk."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class InjectedFile:
    """A file that its owner gave with the create request (Nova's `personality`): its path in the guest, and what is in
    it, in base64.
    """

    path: str
    content_base64: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FirstBoot:
    """What only the making of the config drive needs: secrets, and what others have to say to the guest.

    The control plane forgets the password and the files when the guest runs. `vendor_data` and `vendor_data2` are JSON
    objects as text; empty: there are none.
    """

    admin_password: str = field(default="", repr=False)
    files: tuple[InjectedFile, ...] = field(default=(), repr=False)
    vendor_data: str = field(default="", repr=False)
    vendor_data2: str = field(default="", repr=False)


NO_FIRST_BOOT = FirstBoot()


@dataclass(frozen=True, slots=True)
class GuestConfig:
    """How the guest is configured. `hostname` with its domain; empty: made from the guest's name.

    `asks_first_boot`: whoever makes the config drive asks the control plane for its `FirstBoot`.
    """

    has_drive: bool = True
    hostname: str = ""
    reservation_id: str = ""
    flavor_name: str = ""
    asks_first_boot: bool = False


@dataclass(frozen=True, slots=True)
class BootFile:
    """A kernel or initial RAM disk that is an image of its own."""

    image_id: str
    image_checksum: str
    image_size_bytes: int


@dataclass(frozen=True, slots=True)
class DirectBoot:
    """The guest starts this kernel of its host's instead of what its disk begins with. `arguments` is its command line;
    empty: root disk and serial console.
    """

    kernel: BootFile
    ramdisk: BootFile | None = None
    arguments: str = ""
