"""What a host has of its guests so that it answers their metadata service by itself, and how it comes to have it."""

from dataclasses import dataclass, field

from computeagent.protocol.guests import GuestSpec

METADATA_ADDRESS = "169.254.169.254"
PASSWORD_MAX_BYTES = 1020
"""What a guest may tell of its password, which it encrypts for its owner's key: Nova's bound."""


@dataclass(frozen=True, slots=True)
class GuestDocument:
    """All that a guest may read of itself, for the host that it is on and no other. Passwords and files of its first
    boot are never in it: `guest.first_boot` has vendor data alone.

    `floating_addresses` and `security_groups` (names) are for EC2's tree. `password`: what the guest told of its own.
    """

    host: str
    guest: GuestSpec = field(repr=False)
    floating_addresses: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class SignedDocument:
    """`content` is the JSON of a GuestDocument, `signature` the Ed25519 signature of its bytes, in base64.

    `digest` stands for what the document was made of: the control plane sends none that the host has already.
    """

    instance_uuid: str
    digest: str
    content: str = field(repr=False)
    signature: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class GuestDocuments:
    """What a host lacks. `instances` are all that are to have a document here: those of others are removed.

    `verify_key` is the control plane's public key (Ed25519, base64). Not `is_complete`: there are more, ask again.
    """

    verify_key: str
    instances: tuple[str, ...] = ()
    documents: tuple[SignedDocument, ...] = ()
    is_complete: bool = True
