"""Where images may be fetched from, and how checksums are written. A URL is hostile input: whoever gives it wants the
control plane to open connections, and its network may reach more than a tenant's does.
"""

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urljoin, urlsplit, urlunsplit

from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons, is_storable

URL_MAX_CHARS = 2000
DEFAULT_PORTS = {"http": 80, "https": 443}
_HEX_CHARS = {"sha256": 64, "sha512": 128}
_CHECKSUM = re.compile(r"(?:(sha256|sha512):)?([0-9a-fA-F]+)")
# `HEX  name`, `HEX *name` of GNU's tools, and `SHA256 (name) = HEX` of BSD's.
_GNU_LINE = re.compile(r"([0-9a-fA-F]{64,128})\s+\*?(\S+)\s*")
_BSD_LINE = re.compile(r"SHA(?:256|512) \((.+)\) = ([0-9a-fA-F]{64,128})\s*")


@dataclass(frozen=True, slots=True)
class SourceRules:
    """What the settings allow. `hosts`: names, or `*.name` for what is below one; none means any.

    `networks`: those that may be reached although their addresses are not public.
    """

    schemes: tuple[str, ...]
    hosts: tuple[str, ...]
    ports: tuple[int, ...]
    networks: tuple[str, ...]


def url_reasons(url: object, rules: SourceRules) -> Reasons:
    """Why nothing is fetched from this URL, before anything is looked up; the same is asked of each redirect."""
    if not isinstance(url, str) or not url:
        return [_("Must be a URL.")]
    if len(url) > URL_MAX_CHARS:
        return [
            _(
                "Has {count} characters; at most {url_max_chars} are allowed.",
                count=len(url),
                url_max_chars=URL_MAX_CHARS,
            )
        ]
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        return [_("Is not a URL.")]
    host = (parts.hostname or "").rstrip(".")
    is_host_allowed = not rules.hosts or any(_is_host(host, pattern) for pattern in rules.hosts)
    checks = (
        (not is_storable(url) or not url.isprintable() or " " in url or "\\" in url, _("Has characters no URL has.")),
        (
            parts.scheme not in rules.schemes,
            _(
                "Begins with {scheme!r}; URLs of {schemes} are allowed.",
                scheme=parts.scheme[:20],
                schemes=" and ".join(rules.schemes) or _("no kind"),
            ),
        ),
        (parts.username is not None or parts.password is not None, _("Must hold no user name and no password.")),
        (not host, _("Names no host.")),
        (
            not is_host_allowed,
            _(
                "Is of host {host}; images are fetched from {hosts} only.",
                host=host[:100],
                hosts=", ".join(rules.hosts),
            ),
        ),
        (
            port not in rules.ports,
            _("Names port {port}; {ports} are allowed.", port=port, ports=", ".join(map(str, rules.ports))),
        ),
    )
    return [reason for is_wrong, reason in checks if is_wrong][:1]


def _is_host(host: str, pattern: str) -> bool:
    pattern = pattern.lower()
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def redirect_target(url: str, location: str) -> str:
    """The URL that an answer of `url` sends to. A fragment is not sent on."""
    parts = urlsplit(urljoin(url, location))
    return urlunsplit(parts._replace(fragment=""))


def is_downgrade(before: str, after: str) -> bool:
    """Whether a redirect leaves encryption."""
    return urlsplit(before).scheme == "https" and urlsplit(after).scheme != "https"


def url_without_query(url: str) -> str:
    """For people and logs: a query may be a signature that lets its holder read."""
    parts = urlsplit(url)
    return urlunsplit(SplitResult(parts.scheme, parts.netloc, parts.path, "", ""))


def file_name_of(url: str) -> str:
    """The last part of its path."""
    return unquote(urlsplit(url).path).rpartition("/")[2]


def source_checksum_reasons(checksum: object) -> Reasons:
    """sha256:HEX or sha512:HEX; without the word, the number of digits tells which."""
    if isinstance(checksum, str) and checksum_parsed(checksum) is not None:
        return []
    return [_("Must be sha256: and 64 hexadecimal digits, or sha512: and 128.")]


def checksum_parsed(checksum: str) -> tuple[str, str] | None:
    """(algorithm, digits in lower case); None for what is no checksum."""
    found = _CHECKSUM.fullmatch(checksum.strip())
    if found is None:
        return None
    by_length = {length: name for name, length in _HEX_CHARS.items()}
    algorithm = found[1] or by_length.get(len(found[2]), "")
    return (algorithm, found[2].lower()) if _HEX_CHARS.get(algorithm) == len(found[2]) else None


def checksum_in_list(text: str, file_name: str) -> str:
    """The checksum of this file in a list such as SHA256SUMS, as `sha256:...`; empty where it is not listed."""
    for line in text.splitlines():
        if found := _GNU_LINE.fullmatch(line):
            digits, name = found[1], found[2]
        elif found := _BSD_LINE.fullmatch(line):
            name, digits = found[1], found[2]
        else:
            continue
        if name.removeprefix("./") == file_name and (parsed := checksum_parsed(digits)):
            return ":".join(parsed)
    return ""
