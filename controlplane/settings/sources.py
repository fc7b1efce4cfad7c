"""Every setting as this process has it: its value, where that comes from, and what may be shown of it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings

from controlplane.infra.conf import settings_by_name
from controlplane.kernel.settings import Setting, settings_of
from controlplane.kernel.texts import phrase as _
from controlplane.settings import env
from controlplane.settings.installation import InstallationOptions

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

DEFAULT, ENVIRONMENT, FILE, PROGRAM = "default", "environment", "file", "program"
"""Where a value comes from: its declaration; a variable of the environment; a file; code that replaced it."""
SECRET_WORDS = frozenset({"SECRET", "PASSWORD", "TOKEN", "PASSPHRASE", "CREDENTIALS"})
HIDDEN = "hidden"
STORED_KEY = "secret-key"
MAX_FILE_BYTES = 1_000_000
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")


@dataclass(frozen=True, slots=True)
class SettingShown:
    """One setting for people. `place` is the file that it comes from; `remark` what else is to be known of the value.

    A secret's `value` says only whether there is one.
    """

    name: str
    group: str
    meaning: str
    kind: str
    value: str
    default: str
    source: str
    place: str
    remark: str
    is_secret: bool

    @property
    def is_set(self) -> bool:
        """Whether somebody said something other than nothing."""
        return self.source != DEFAULT


def settings_shown() -> list[SettingShown]:
    """All of them, in the order of the document. Reads the settings' file where one is named, and no database."""
    in_file = _file_values()
    return [one for options in env.ALL_OPTIONS for one in _of_options(options, in_file)]


def _of_options(options: "type[DataclassInstance]", in_file: Mapping[str, str]) -> Iterator[SettingShown]:
    values = env.values_of(options) if options is InstallationOptions else settings_by_name()
    secret_fields = {field.name for field in fields(options) if not field.repr}
    group = options.__name__.removesuffix("Options").removesuffix("Settings")
    for field_name, one in settings_of(options).items():
        value = values.get(one.name, one.default)
        source, place, remark = _source(one, value, in_file)
        is_secret = field_name in secret_fields or _is_secret_name(one)
        has_value = value not in ("", ()) or source == FILE
        yield SettingShown(
            name=one.name,
            group=group,
            meaning=one.help,
            kind=one.kind,
            value=(HIDDEN if has_value else "") if is_secret else _text(value),
            default="" if is_secret else one.default_text,
            source=source,
            place=place,
            remark=remark,
            is_secret=is_secret,
        )


def _source(one: Setting, value: Any, in_file: Mapping[str, str]) -> tuple[str, str, str]:
    """(source, file, remark)."""
    file = env.settings_file()
    if env.is_given(one.name):
        if in_file.get(one.name) == env.raw_text(one.name):
            return FILE, file, ""
        differs = _("{file} says something else: this process was started before, or has its own value.", file=file)
        return ENVIRONMENT, "", differs if one.name in in_file else ""
    if in_file.get(one.name):
        return DEFAULT, "", _("{file} has a value: this process was started before it was written there.", file=file)
    if one.name == "SECRET_KEY" and settings.SECRET_KEY:
        return FILE, str(Path(settings.STATE_DIR) / STORED_KEY), _("Made on the first start.")
    if value != env.default_of(one):
        return PROGRAM, "", _("Replaced by the program that started this process.")
    return DEFAULT, "", ""


def _is_secret_name(one: Setting) -> bool:
    """By its words, of texts alone: seconds of a token's life are none."""
    return isinstance(one.default, str) and (
        one.name == "SECRET_KEY" or not SECRET_WORDS.isdisjoint(one.name.split("_"))
    )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(value)
    text = str(value)
    return without_password(text) if "://" in text else text


def without_password(url: str) -> str:
    """The address with its password hidden, in the query of it too."""
    try:
        parts = urlsplit(url)
        has_password = bool(parts.password)
    except ValueError:
        return HIDDEN
    place, query = parts.netloc, parts.query
    if has_password:
        user, _, host = place.rpartition("@")
        place = f"{user.partition(':')[0]}:{HIDDEN}@{host}"
    query = re.sub(r"(?i)\b(password|passwd|secret|token|sslpassword)=[^&]*", rf"\1={HIDDEN}", query)
    return urlunsplit((parts.scheme, place, parts.path, query, "")) if has_password or query else url


def _file_values() -> Mapping[str, str]:
    """What the settings' file says, as a service manager reads it; nothing where it cannot be read, which is usual: it
    holds secrets.
    """
    file = env.settings_file()
    if not file:
        return {}
    try:
        with Path(file).open(encoding="utf-8") as opened:
            text = opened.read(MAX_FILE_BYTES)
    except (OSError, ValueError):
        return {}
    found = (_LINE.fullmatch(line) for line in text.splitlines() if not line.lstrip().startswith(("#", ";")))
    return {match[1]: _unquoted(match[2].strip()) for match in found if match}


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if is_quoted else text
