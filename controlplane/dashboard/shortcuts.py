"""Keys that pages know, for the page that lists them and the script that follows them."""

from dataclasses import dataclass

from controlplane.kernel.texts import gettext_noop

GO_KEYS = {
    "overview": "o",
    "instances": "i",
    "images": "m",
    "flavors": "f",
    "networks": "n",
    "volumes": "v",
    "hosts": "h",
    "aggregates": "g",
    "capacity": "c",
    "decisions": "d",
    "policies": "p",
    "work": "w",
    "bulk-jobs": "b",
    "drift": "r",
    "audit-log": "a",
    "projects": "j",
    "users": "u",
}
"""{section of the menu: the letter that follows G}."""


@dataclass(frozen=True, slots=True)
class Shortcut:
    """Keys, pressed one after the other, and what they do, in English. `is_single`: a letter or sign alone, which can
    be switched off, since who dictates or cannot hold keys apart would set them off by mistake.
    """

    keys: tuple[str, ...]
    does: str
    is_single: bool = True


GENERAL = (
    Shortcut(("Ctrl", "K"), gettext_noop("Search everything, and go to any page"), is_single=False),
    Shortcut(("/",), gettext_noop("Search: the list that is open, else everything")),
    Shortcut(("?",), gettext_noop("Show these keys")),
    Shortcut(("C",), gettext_noop("Create one more of what is listed")),
    Shortcut(("Esc",), gettext_noop("Close what is open"), is_single=False),
)
