"""The Content-Security-Policy forbids what is written into a page; templates must not have it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
INLINE = {
    "style attribute": re.compile(r"<[^>]*\sstyle\s*=", re.IGNORECASE),
    "style element": re.compile(r"<style\b", re.IGNORECASE),
    "inline script": re.compile(r"<script\b(?![^>]*\bsrc\s*=)", re.IGNORECASE),
    "event handler": re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "javascript address": re.compile(r"(?:href|src|action)\s*=\s*[\"']?\s*javascript:", re.IGNORECASE),
    "htmx handler": re.compile(r"<[^>]*\shx-on[:=-]", re.IGNORECASE),
    "foreign address": re.compile(r"<(?:script|link|img)\b[^>]*(?:src|href)\s*=\s*[\"']?(?:https?:)?//", re.IGNORECASE),
}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_template_has_nothing_that_the_policy_forbids(template: Path) -> None:
    text = template.read_text()
    assert [name for name, pattern in INLINE.items() if pattern.search(text)] == []
