"""What a person sees and changes of a draft: filters in order, weighers with multipliers, settings as text.

The state of the editor travels with each of its forms, so that moving a filter works without a script and nothing is
written before "Save".
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from django.http import QueryDict
from django.utils.translation import gettext

from controlplane.dashboard.policies.differences import number_text
from controlplane.dashboard.policies.plugin_lines import (
    PluginLine,
    filter_line,
    own_multiplier,
    scheduler_line,
    weigher_line,
)
from controlplane.dashboard.policies.values import (
    OPTION_SETTINGS,
    SCHEDULER_SETTINGS,
    NotAValue,
    PolicySetting,
    json_object,
    number_of,
    text_of,
    value_of,
)
from controlplane.infra.reader_texts import said
from scheduling.domain.policy import DEFAULT_FILTERS, DEFAULT_WEIGHERS
from scheduling.filters.registry import filter_names
from scheduling.policies.check import policy_problems
from scheduling.policies.selectors.policies import body_completed
from scheduling.schedulers.registry import scheduler_names
from scheduling.weighers.registry import weigher_names

OTHER = "other"
MAX_NAMES = 500
LONGEST_NAME = 255
KINDS = ("filter", "weigher")
Errors = dict[str, list[str]]


@dataclass
class PolicyEditor:
    """`settings` maps paths to texts; `other` is JSON of what this page has no field for; `errors` is by path."""

    filters: list[str] = field(default_factory=list)
    weighers: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    other: str = ""
    comment: str = ""
    revision: int | None = None
    errors: Errors = field(default_factory=dict)
    adding: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_body(cls, body: Mapping[str, Any], *, comment: str = "", revision: int | None = None) -> Self:
        """Of a stored body. What cannot be shown in a field of its own stays in `other`, so that nothing is lost."""
        editor, rest = cls(comment=comment, revision=revision), dict(body)
        editor.filters = _taken(rest, "filters", _filters, list(DEFAULT_FILTERS))
        editor.weighers = _taken(rest, "weighers", _weighers, {one.name: "" for one in DEFAULT_WEIGHERS})
        editor._take_settings(rest, SCHEDULER_SETTINGS)
        if isinstance(rest.get("options"), Mapping):
            options = dict(rest.pop("options"))
            editor._take_settings(options, OPTION_SETTINGS)
            rest |= {"options": options} if options else {}
        editor.other = json.dumps(rest, indent=2) if rest else ""
        return editor

    @classmethod
    def from_post(cls, data: QueryDict) -> Self:
        """Of the editor's own form. A text that is no number of a revision counts as none."""
        revision = data.get("revision", "")
        names = [name[:LONGEST_NAME] for name in data.getlist("weigher")[:MAX_NAMES]]
        return cls(
            filters=list(dict.fromkeys(name[:LONGEST_NAME] for name in data.getlist("filter")[:MAX_NAMES])),
            weighers=dict(zip(names, data.getlist("multiplier"), strict=False)),
            settings={one.path: data.get(one.path, "") for one in (*SCHEDULER_SETTINGS, *OPTION_SETTINGS)},
            other=data.get(OTHER, ""),
            comment=data.get("comment", ""),
            adding={kind: name for kind in KINDS if (name := data.get(f"add_{kind}", "").strip()[:LONGEST_NAME])},
            revision=int(revision) if revision.isascii() and revision.isdecimal() and len(revision) < 10 else None,
        )

    def change(self, do: str) -> str:
        """Move, remove or add as the pressed button says; what was done, for people ("" where nothing was)."""
        verb, _, name = do.partition(":")
        if verb in ("up", "down"):
            return self._move(name, -1 if verb == "up" else 1)
        if verb == "drop-filter" and name in self.filters:
            self.filters.remove(name)
            return gettext("%(name)s is removed.") % {"name": name}
        if verb == "drop-weigher" and name in self.weighers:
            del self.weighers[name]
            return gettext("%(name)s is removed.") % {"name": name}
        return self._add(name, self.adding.get(name, "")) if verb == "add" and name in KINDS else ""

    def body(self) -> dict[str, Any]:
        """The body that the fields mean; every problem with it is in `errors` afterwards."""
        self.errors = {}
        for kind in self.adding:
            self._wrong(f"add_{kind}", gettext("This one is not added yet: press “Add”, or empty the field."))
        body: dict[str, Any] = {"filters": self.filters, "weighers": self._weighers_read()}
        body |= self._settings_read(SCHEDULER_SETTINGS)
        options = self._settings_read(OPTION_SETTINGS)
        if self.other.strip():
            try:
                other = json_object(self.other)
            except NotAValue as error:
                self._wrong(OTHER, str(error))
                other = {}
            more = other.pop("options", {})
            options |= more if isinstance(more, Mapping) else {}
            body |= other if isinstance(more, Mapping) else {**other, "options": more}
        if options:
            body.setdefault("options", options)
        for problem in policy_problems(body_completed(body)):
            self._wrong(problem.field, problem.message)
        return body

    def add_problems(self, errors: Mapping[str, Iterable[str]]) -> None:
        """Problems that somebody else found, by field."""
        for path, texts in errors.items():
            for text in texts:
                self._wrong(path, text)

    def _move(self, name: str, step: int) -> str:
        if name not in self.filters:
            return ""
        at = self.filters.index(name)
        to = min(max(at + step, 0), len(self.filters) - 1)
        self.filters.insert(to, self.filters.pop(at))
        place = {"name": name, "number": to + 1, "total": len(self.filters)}
        return gettext("%(name)s is number %(number)s of %(total)s.") % place

    def _add(self, kind: str, name: str) -> str:
        known, line_of = (self.filters, filter_line) if kind == "filter" else (list(self.weighers), weigher_line)
        problem = "" if name else gettext("Name one.")
        problem = problem or (gettext("%(name)s is there already.") % {"name": name} if name in known else "")
        problem = problem or ("" if (line := line_of(name)).loads else line.line)
        if problem:
            self._wrong(f"add_{kind}", problem)
            return ""
        if kind == "filter":
            self.filters.append(name)
        else:
            self.weighers[name] = ""
        del self.adding[kind]
        return gettext("%(name)s is added at the end.") % {"name": name}

    def _take_settings(self, body: dict[str, Any], settings: Iterable[PolicySetting]) -> None:
        for one in settings:
            if one.name in body:
                try:
                    self.settings[one.path] = text_of(body[one.name], one.kind)
                except NotAValue:
                    continue
                del body[one.name]

    def _weighers_read(self) -> list[dict[str, Any]]:
        read: list[dict[str, Any]] = []
        for name, text in self.weighers.items():
            try:
                read.append({"name": name, "multiplier": number_of(text.strip()) if text.strip() else None})
            except NotAValue as error:
                self._wrong(f"weighers.{name}", str(error))
        return read

    def _settings_read(self, settings: Iterable[PolicySetting]) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for one in settings:
            text = self.settings.get(one.path, "")
            if text.strip():
                try:
                    read[one.name] = value_of(text, one.kind)
                except NotAValue as error:
                    self._wrong(one.path, str(error))
        return read

    def _wrong(self, path: str, text: str) -> None:
        texts = self.errors.setdefault(path, [])
        if (shown := said(text)) not in texts:
            texts.append(shown)


def _taken(body: dict[str, Any], name: str, read: Any, default: Any) -> Any:
    """Take the value of `name` out of the body; a value of another form is left there."""
    if name not in body:
        return default
    found = read(body[name])
    if found is None:
        return default
    del body[name]
    return found


def _filters(value: Any) -> list[str] | None:
    is_names = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return list(dict.fromkeys(value)) if is_names else None


def _weighers(value: Any) -> dict[str, str] | None:
    pairs = list(value.items()) if isinstance(value, Mapping) else _pairs(value)
    if pairs is None or not all(isinstance(one, int | float | None) for _, one in pairs):
        return None
    return {name: "" if number is None else number_text(number) for name, number in pairs}


def _pairs(value: Any) -> list[tuple[str, Any]] | None:
    if not isinstance(value, list):
        return None
    known = [one for one in value if isinstance(one, Mapping) and isinstance(one.get("name"), str)]
    return [(one["name"], one.get("multiplier")) for one in known] if len(known) == len(value) else None


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A filter or weigher as a row. `text` is the multiplier that is set, `own` the weigher's own."""

    plugin: PluginLine
    is_first: bool
    is_last: bool
    text: str
    own: str
    errors: list[str]


def filter_rows(editor: PolicyEditor) -> list[RuleRow]:
    """In the order in which they run."""
    last = len(editor.filters) - 1
    return [
        RuleRow(filter_line(name), at == 0, at == last, "", "", editor.errors.get(f"filters.{name}", []))
        for at, name in enumerate(editor.filters)
    ]


def weigher_rows(editor: PolicyEditor) -> list[RuleRow]:
    """The weighers in the order in which the policy runs them."""
    return [
        RuleRow(weigher_line(name), False, False, text, own_multiplier(name), editor.errors.get(f"weighers.{name}", []))
        for name, text in editor.weighers.items()
    ]


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting as a field. `default` says what counts while it is empty."""

    setting: PolicySetting
    text: str
    default: str
    errors: list[str]


def setting_rows(
    editor: PolicyEditor, settings: Iterable[PolicySetting], defaults: Mapping[str, str]
) -> list[SettingRow]:
    """With what is wrong at each."""
    return [
        SettingRow(
            _shown(one), editor.settings.get(one.path, ""), defaults.get(one.path, ""), editor.errors.get(one.path, [])
        )
        for one in settings
    ]


def _shown(one: PolicySetting) -> PolicySetting:
    return replace(one, line=gettext(one.line)) if one.line else one


def stray_errors(editor: PolicyEditor) -> Errors:
    """Problems that belong to no field of their own."""
    shown = {one.path for one in (*SCHEDULER_SETTINGS, *OPTION_SETTINGS)} | {"add_filter", "add_weigher", OTHER}
    shown |= {f"filters.{name}" for name in editor.filters} | {f"weighers.{name}" for name in editor.weighers}
    return {path: texts for path, texts in editor.errors.items() if path not in shown}


def names_to_add(editor: PolicyEditor) -> dict[str, list[PluginLine]]:
    """What is installed and not in the draft; every scheduler, of which there is one."""
    filters = [filter_line(name) for name in filter_names() if name not in editor.filters]
    weighers = [weigher_line(name) for name in weigher_names() if name not in editor.weighers]
    return {"filter": filters, "weigher": weighers, "scheduler": [scheduler_line(name) for name in scheduler_names()]}
