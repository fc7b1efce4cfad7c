"""What a guest will make of its user data, as far as that can be said before it boots.

Nothing is refused by it: any bytes may be user data, and an image may read them as it likes. It is for whoever types.
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import yaml

from controlplane.kernel.texts import Translate, gettext_noop, in_english
from servers.instances.domain.instance_rules import USER_DATA_MAX_CHARS

CLOUD_CONFIG = "#cloud-config"
KNOWN_HEADERS = {
    "#include": gettext_noop("{header}: a list of addresses, fetched by the guest."),
    "#include-once": gettext_noop("{header}: a list of addresses, fetched once."),
    "#cloud-boothook": gettext_noop("{header}: a script that runs early, at every boot."),
    "#cloud-config-archive": gettext_noop("{header}: several parts in one document."),
    "#cloud-config-jsonp": gettext_noop("{header}: a JSON patch of cloud-config."),
    "#part-handler": gettext_noop("{header}: a handler of other parts."),
    "## template: jinja": gettext_noop("{header}: a template, filled in by the guest."),
    "Content-Type: multipart/": gettext_noop("{header}: several parts, as a MIME message."),
    "MIME-Version:": gettext_noop("{header}: several parts, as a MIME message."),
    "#ps1": gettext_noop("{header}: a script for PowerShell."),
    "#ps1_sysnative": gettext_noop("{header}: a script for PowerShell."),
    "rem cmd": gettext_noop("{header}: a batch file for Windows."),
}
INTERPRETERS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "python", "python3", "perl", "ruby", "node"})
EMPTY = gettext_noop("A cloud-config with nothing in it.")
_STARTS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_MAX_DEPTH = 200
"""Deeper than anybody writes. libyaml takes the square of the depth in time; cloud-init's loader ends near 400."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UserDataTone(StrEnum):
    """GOOD: as it should be. WARN: it may not do what is meant. BAD: it will not."""

    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class UserDataFinding:
    """One remark. `line` is from 1; 0 where it is about all of it. `values` fill the places of `template`."""

    tone: UserDataTone
    template: str
    line: int = 0
    values: Mapping[str, str] = field(default_factory=dict)

    def sentence(self, translate: Translate = in_english) -> str:
        """The remark in words."""
        return translate(self.template).format(**self.values)


def user_data_findings(text: str) -> list[UserDataFinding]:
    """Remarks on user data as it was typed, with line feeds as ends of lines. Nothing is said of none."""
    if not text:
        return []
    findings = [_what_it_is(text)]
    size = len(base64.b64encode(text.encode()))
    if size > USER_DATA_MAX_CHARS:
        template = gettext_noop("Is too long: {size} characters in base64, at most {maximum} are allowed.")
        values = {"size": f"{size:,}", "maximum": f"{USER_DATA_MAX_CHARS:,}"}
        findings.insert(0, UserDataFinding(UserDataTone.BAD, template, values=values))
    if "\r\n" in text:
        findings.append(UserDataFinding(UserDataTone.WARN, gettext_noop("Has ends of lines as Windows writes them.")))
    return findings


def is_broken(findings: list[UserDataFinding]) -> bool:
    """Whether something of it cannot work."""
    return any(one.tone is UserDataTone.BAD for one in findings)


def _what_it_is(text: str) -> UserDataFinding:
    first = text.partition("\n")[0].rstrip()
    if first == CLOUD_CONFIG:
        return _cloud_config(text)
    if first.startswith("#!"):
        return _script(first)
    for header, template in KNOWN_HEADERS.items():
        if first.lower().startswith(header.lower()):
            return UserDataFinding(UserDataTone.GOOD, template, values={"header": header})
    if first.strip() == CLOUD_CONFIG or first.startswith(CLOUD_CONFIG):
        return UserDataFinding(UserDataTone.BAD, gettext_noop("The first line is #cloud-config and nothing else."), 1)
    if not text.strip():
        return UserDataFinding(UserDataTone.WARN, gettext_noop("Is only white space."))
    template = gettext_noop(
        "cloud-init ignores it: it begins with neither #cloud-config nor #! nor another header that it knows."
    )
    return UserDataFinding(UserDataTone.WARN, template, 1)


def _script(first: str) -> UserDataFinding:
    words = first[2:].split()
    if not words or not words[0].startswith("/"):
        template = gettext_noop("After #! comes the whole path of an interpreter, such as /bin/sh.")
        return UserDataFinding(UserDataTone.BAD, template, 1)
    arguments = [word for word in words[1:] if not word.startswith("-")]
    path = words[0]
    name = arguments[0] if path.endswith("/env") and arguments else path.rpartition("/")[2]
    if name.rstrip("0123456789.") in INTERPRETERS or name in INTERPRETERS:
        template = gettext_noop("A script for {name}, run once at the first boot.")
        return UserDataFinding(UserDataTone.GOOD, template, values={"name": name})
    template = gettext_noop("A script for {path}: the image has to have it.")
    return UserDataFinding(UserDataTone.WARN, template, 1, {"path": path})


def _cloud_config(text: str) -> UserDataFinding:
    """By its events alone: nothing is built of it, so aliases cost nothing, and where it is too deep it is left."""
    try:
        return _judged(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        return _no_yaml(f"{error.problem or error.context}", mark.line + 1 if mark else 0)
    except (yaml.YAMLError, RecursionError) as error:
        return _no_yaml(f"{str(error).partition(chr(10))[0]:.120}", 0)


def _no_yaml(problem: str, line: int) -> UserDataFinding:
    return UserDataFinding(UserDataTone.BAD, gettext_noop("Is no YAML: {problem}."), line, {"problem": problem})


def _judged(events: Iterable[yaml.Event]) -> UserDataFinding:
    nodes, anchors, depth = 0, set[str](), 0
    for event in events:
        if isinstance(event, _ENDS):
            depth -= 1
        if not isinstance(event, yaml.NodeEvent):
            continue
        if isinstance(event, yaml.AliasEvent) and event.anchor not in anchors:
            template = gettext_noop("The alias *{alias} is nowhere defined.")
            return UserDataFinding(UserDataTone.BAD, template, _line(event), {"alias": f"{event.anchor:.40}"})
        anchors.add(event.anchor or "")
        if depth == 0 and not isinstance(event, yaml.MappingStartEvent):
            return _no_mapping(event)
        nodes += depth == 1
        depth += isinstance(event, _STARTS)
        if depth > _MAX_DEPTH:
            return _no_yaml(f"it is nested more than {_MAX_DEPTH} levels deep", _line(event))
    if not nodes:
        return UserDataFinding(UserDataTone.WARN, EMPTY)
    if nodes == 2:
        return UserDataFinding(UserDataTone.GOOD, gettext_noop("A cloud-config with 1 setting."))
    # At the top level each key comes with its value.
    template = gettext_noop("A cloud-config with {count} settings.")
    return UserDataFinding(UserDataTone.GOOD, template, values={"count": str(nodes // 2)})


def _no_mapping(event: yaml.NodeEvent) -> UserDataFinding:
    if isinstance(event, yaml.ScalarEvent) and not event.value:
        return UserDataFinding(UserDataTone.WARN, EMPTY)
    template = gettext_noop("A cloud-config has settings as `key: value` at its top level.")
    return UserDataFinding(UserDataTone.BAD, template, _line(event))


def _line(event: yaml.Event) -> int:
    return int(event.start_mark.line) + 1 if event.start_mark else 0
