"""What of a page stands in somebody's way: of who sees little, hears it read, or has no mouse. Found by axe-core."""

from collections.abc import Mapping
from typing import Any, Final

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

GRAVE = ("serious", "critical")
OTHERS_PAGES = ("/api/docs/", "/admin/")
"""Drawn by other programs, as they are."""
LIGHT: Final = "light"
DARK: Final = "dark"


CONTRAST = "color-contrast"
"""The one rule that a theme changes the answer to; of all it takes the longest."""


def barriers(page: Page, *, rules: Mapping[str, Any] | None = None) -> list[str]:
    """All grave ones of the page as it stands, one line for each element; only by some rules, in axe's own words."""
    if not page.url.startswith("http") or any(part in page.url for part in OTHERS_PAGES):
        return []
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    # Style sheets are loaded once more for one rule only, about turned phones, which is none of the grave ones.
    options = {"resultTypes": ["violations"], "preload": False, **(rules or {})}
    found: dict[str, Any] = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{rule['id']} ({rule['impact']}) on {_path_of(page)}: {node['html'][:200]} — {_first_reason(node)}"
        for rule in found["violations"]
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]


def barriers_in_both_themes(page: Page) -> list[str]:
    """The same in each theme that the system may ask for; the page stays in the last one."""
    found = []
    for theme, rules in ((LIGHT, None), (DARK, {"runOnly": [CONTRAST]})):
        page.emulate_media(color_scheme=theme)
        found += [f"{theme}: {one}" for one in barriers(page, rules=rules)]
    return found


def barriers_but_contrast(page: Page) -> list[str]:
    """All but those of colours, for a page whose colours were looked at in another width."""
    return barriers(page, rules={"rules": {CONTRAST: {"enabled": False}}})


def _path_of(page: Page) -> str:
    return "/" + page.url.partition("//")[2].partition("/")[2]


def _first_reason(node: dict[str, Any]) -> str:
    said = [*node["any"], *node["all"], *node["none"]]
    return str(said[0]["message"]) if said else ""
