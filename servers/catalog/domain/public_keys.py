"""SSH keys: reading a public one, making a pair."""

import base64
import binascii
import hashlib
import re
import struct
from dataclasses import dataclass

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons, name_reasons

PUBLIC_KEY_MAX_CHARS = 16384
KEY_TYPES = frozenset(
    {
        "ssh-rsa",
        "ssh-ed25519",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp521",
        "sk-ssh-ed25519@openssh.com",
        "sk-ecdsa-sha2-nistp256@openssh.com",
    }
)
ED25519_BYTES = 32
_KEY_NAME = re.compile(r"[a-zA-Z0-9@._\- ]+")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key as it is stored: one line, and its MD5 fingerprint as pairs with colons."""

    line: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class NewKey:
    """A fresh pair. `private_key` is in OpenSSH's format and exists nowhere else."""

    public: PublicKey
    private_key: str


def key_name_reasons(name: object) -> Reasons:
    """Nova's rule: 1 to 255 letters, digits, spaces and @ . _ - (so that a name fits into an address)."""
    reasons = name_reasons(name)
    if not reasons and isinstance(name, str) and not _KEY_NAME.fullmatch(name):
        return [_("Only letters, digits, spaces and any of @ . _ - are allowed.")]
    return reasons


def public_key_parse(text: str) -> PublicKey:
    """Read one line of OpenSSH's format (`type base64 comment`, with spaces or tabs between). Raises Invalid with field
    public_key.
    """
    if len(text) > PUBLIC_KEY_MAX_CHARS:
        raise _bad(
            _(
                "Has {count} characters; at most {public_key_max_chars} are allowed.",
                count=len(text),
                public_key_max_chars=PUBLIC_KEY_MAX_CHARS,
            )
        )
    line = text.strip()
    if "PRIVATE KEY" in line:
        raise _bad(_("Is a private key. Send the public half, usually a file that ends in .pub."))
    if not line.replace("\t", " ").isprintable():
        raise _bad(_("Must be one line of printable characters."))
    # Not every reader of authorized keys knows tabs.
    kind, encoded, *comment = [*re.split(r"[ \t]+", line, maxsplit=2), ""][:3]
    if kind not in KEY_TYPES:
        raise _bad(
            _(
                "The key type {kind!r:.40} is not known; known are {key_types}.",
                kind=kind,
                key_types=", ".join(sorted(KEY_TYPES)),
            )
        )
    blob = _blob(kind, encoded)
    digest = hashlib.md5(blob, usedforsecurity=False).hexdigest()
    line = " ".join([kind, encoded, *(word.replace("\t", " ") for word in comment if word)])
    return PublicKey(line, ":".join(digest[at : at + 2] for at in range(0, 32, 2)))


def _blob(kind: str, encoded: str) -> bytes:
    try:
        blob = base64.b64decode(encoded, validate=True)
        (length,) = struct.unpack_from(">I", blob)
    except (binascii.Error, struct.error, ValueError) as error:
        raise _bad(_("The second word is not the base64 of a key.")) from error
    if blob[4 : 4 + length] != kind.encode():
        raise _bad(_("The key does not contain what its first word says ({kind}).", kind=kind))
    if kind.startswith("sk-"):
        _security_key_check(kind, blob)
    else:
        _check(f"{kind} {encoded}")
    return blob


def _check(line: str) -> None:
    try:
        serialization.load_ssh_public_key(line.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _bad(_("The key is damaged or too weak to be used.")) from error


def _security_key_check(kind: str, blob: bytes) -> None:
    """Each of its parts, to its end. Source: OpenSSH's PROTOCOL.u2f, "SSH U2F Key formats"."""
    parts, at = [], 0
    while at < len(blob):
        try:
            (length,) = struct.unpack_from(">I", blob, at)
        except struct.error as error:
            raise _bad(_("The key is damaged or too weak to be used.")) from error
        parts.append(blob[at + 4 : at + 4 + length])
        at += 4 + length
    is_whole = at == len(blob)
    match parts:
        case [_kind, point, application] if kind == "sk-ssh-ed25519@openssh.com":
            fits = is_whole and len(point) == ED25519_BYTES and application
        case [_kind, b"nistp256", point, application] if kind == "sk-ecdsa-sha2-nistp256@openssh.com":
            fits = is_whole and _is_on_p256(point) and application
        case _:
            fits = False
    if not fits:
        raise _bad(_("The key is damaged or too weak to be used."))


def _is_on_p256(point: bytes) -> bool:
    try:
        EllipticCurvePublicKey.from_encoded_point(SECP256R1(), point)
    except ValueError:
        return False
    return True


def _bad(message: str) -> Invalid:
    return Invalid(message, field="public_key")


def new_key(comment: str) -> NewKey:
    """A fresh Ed25519 pair."""
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    text = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    return NewKey(public_key_parse(f"{public.decode()} {comment}"), text.decode())
