"""What a request may say of how its guests are configured: config drive, password, files, host name, addresses, disk.

Sources: Nova's server schema, its checks on create, and its quota of injected files.
"""

import base64
import binascii
import re
import secrets
import string
from collections.abc import Mapping, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from controlplane.kernel.booleans import is_true
from controlplane.kernel.texts import phrase as _
from servers.fields import Problems, Reasons, is_storable, problems_found, text_reasons

ADMIN_PASS_MAX_CHARS = 255
ADMIN_PASS_CHARS = 12
"""As long as Nova's `password_length`."""
FQDN_MAX_CHARS = 255
PATH_MAX_CHARS = 4096
AUTO, MANUAL = "AUTO", "MANUAL"
MANDATORY = "mandatory"

_LABEL = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9])?")
# Without those that look alike, as Nova's.
_PASSWORD_ALPHABET = "".join(sorted(set(string.ascii_letters + string.digits) - set("0O1Il")))


def fqdn_reasons(hostname: object) -> Reasons:
    """A host name, with or without its domain: labels of letters, digits, hyphens and underscores."""
    if not isinstance(hostname, str) or not 0 < len(hostname) <= FQDN_MAX_CHARS:
        return [_("1 to {fqdn_max_chars} characters are allowed.", fqdn_max_chars=FQDN_MAX_CHARS)]
    if not all(_LABEL.fullmatch(label) for label in hostname.split(".")):
        return [
            _(
                "Each part must be 1 to 63 letters, digits, hyphens and underscores, with a letter "
                "or digit at both ends."
            )
        ]
    return []


def host_and_domain(hostname: str, domain: str) -> str:
    """What the guest is told: a host name that has no domain of its own gets the installation's."""
    return f"{hostname}.{domain}" if domain and hostname and "." not in hostname else hostname


def access_address_reasons(address: object, version: int) -> Reasons:
    """An IP address of this version; empty is none."""
    if address == "":
        return []
    kind = IPv4Address if version == 4 else IPv6Address
    try:
        if isinstance(address, str) and "%" not in address:
            kind(address)
            return []
    except (AddressValueError, ValueError):
        pass
    return [_("Is {address!r:.80}, which is not an IPv{version} address.", address=address, version=version)]


def address_spelled(address: str) -> str:
    """The usual spelling of an address that `access_address_reasons` has nothing against."""
    return str(IPv6Address(address)) if ":" in address else address


def admin_pass_reasons(admin_pass: object) -> Reasons:
    """Any text that can be stored and typed; an administrator's password is otherwise its owner's business."""
    reasons = text_reasons(admin_pass, maximum=ADMIN_PASS_MAX_CHARS)
    if not reasons and isinstance(admin_pass, str) and not admin_pass.isprintable():
        return [_("Has characters that cannot be typed.")]
    return reasons


def admin_pass_new() -> str:
    """A random password that nobody can guess, with a lower-case letter, an upper-case letter and a digit in it."""
    while True:
        text = "".join(secrets.choice(_PASSWORD_ALPHABET) for _ in range(ADMIN_PASS_CHARS))
        if any(map(str.islower, text)) and any(map(str.isupper, text)) and any(map(str.isdigit, text)):
            return text


def personality_reasons(personality: object) -> Reasons:
    """A list of objects with a `path` in the guest and `contents` in base64, each path once."""
    if isinstance(personality, str) or not isinstance(personality, Sequence):
        return [_("Must be a list of objects with path and contents.")]
    reasons, seen = [], set()
    for number, each in enumerate(personality):
        if not isinstance(each, Mapping) or set(each) != {"path", "contents"}:
            return [_("File {number}: must be an object with path and contents, and nothing else.", number=number)]
        path, contents = each["path"], each["contents"]
        if not isinstance(path, str) or not path or len(path) > PATH_MAX_CHARS or not is_storable(path):
            reasons.append(
                _(
                    "File {number}: path must be text of 1 to {path_max_chars} characters.",
                    number=number,
                    path_max_chars=PATH_MAX_CHARS,
                )
            )
        elif path in seen:
            reasons.append(
                _("File {number}: there is another file with the path {path!r:.80}.", number=number, path=path)
            )
        else:
            seen.add(path)
        if injected_bytes(contents) is None:
            reasons.append(_("File {number}: contents must be base64.", number=number))
    return reasons


def injected_bytes(contents: object) -> bytes | None:
    """What is in a file; None for what is not base64. White space is passed over, as `base64` wraps its lines."""
    if not isinstance(contents, str):
        return None
    try:
        return base64.b64decode("".join(contents.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def personality_amounts(personality: Sequence[Mapping[str, str]]) -> dict[str, int]:
    """How many files these are, and how large the largest and its path, by the names of their limits; they went through
    `personality_reasons`.
    """
    return {
        "injected_files": len(personality),
        "injected_file_path_bytes": max((len(each["path"].encode()) for each in personality), default=0),
        "injected_file_content_bytes": max(
            (len(injected_bytes(each["contents"]) or b"") for each in personality), default=0
        ),
    }


METADATA_BRINGS = frozenset({"user_data", "key_name"})
"""Fields of a request that a guest learns from the metadata service, too: it says neither passwords nor files."""


def config_drive_decided(
    asked: bool | None, *, is_forced: bool, image_policy: str, needs: Sequence[str]
) -> tuple[bool, Reasons]:
    """Whether the guest gets a config drive, and what is against a refused one.

    Nobody has to ask for one: it is the only way by which `needs` (fields of the request) reach the guest. `is_forced`
    is the installation's setting, `image_policy` the image's img_config_drive.
    """
    if asked is not False:
        return True, []
    if is_forced:
        return True, [_("Every instance of this installation has a config drive (FORCE_CONFIG_DRIVE).")]
    if image_policy == MANDATORY:
        return True, [_("The image says img_config_drive=mandatory.")]
    if needs:
        return True, [_("Without a config drive nothing brings {needs} to the guest.", needs=", ".join(needs))]
    return False, []


def disk_config_decided(asked: str, image_says: str) -> tuple[str, Reasons]:
    """AUTO, MANUAL or, where neither the request nor the image's hw_auto_disk_config says anything, empty.

    AUTO lets the guest grow its root partition to the size of the disk, MANUAL tells it not to.
    """
    if asked not in ("", AUTO, MANUAL):
        return "", [_("Is {asked!r:.80}; it must be {auto} or {manual}.", asked=asked, auto=AUTO, manual=MANUAL)]
    if asked == AUTO and image_says.strip().lower() == "disabled":
        return "", [_("The image has automatic disk resize disabled (hw_auto_disk_config=disabled).")]
    if asked or not image_says:
        return asked, []
    return (AUTO if is_true(image_says) else MANUAL), []


def guest_config_problems(
    *,
    hostname: object,
    max_count: object,
    access_ip_v4: object,
    access_ip_v6: object,
    admin_pass: object,
    personality: object,
) -> Problems:
    """Everything that is wrong with these fields by themselves."""
    hostname_against = fqdn_reasons(hostname) if hostname else []
    if hostname and isinstance(max_count, int) and max_count > 1:
        hostname_against = [*hostname_against, _("One host name cannot be given to several instances.")]
    return problems_found(
        {
            "hostname": hostname_against,
            "access_ip_v4": access_address_reasons(access_ip_v4, 4),
            "access_ip_v6": access_address_reasons(access_ip_v6, 6),
            "admin_pass": admin_pass_reasons(admin_pass) if admin_pass else [],
            "personality": personality_reasons(personality) if personality else [],
        }
    )
