"""What of a page is left in English for a reader of another language."""

import re
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "path"}
NOT_READ = {"script", "style", "code", "pre", "kbd", "svg"}
STORED = {"mono"}
"""Classes of what is kept as it was written: ids and codes."""
SAID_BY = ("title", "aria-label", "placeholder", "data-label")
_WORDS = re.compile(r"[A-Za-z][A-Za-z']*(?:[ ,]+[A-Za-z][A-Za-z']*){2,}")


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[bool] = []
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [given[name] or "" for name in SAID_BY if name in given]
        if tag not in VOID:
            is_stored = bool(STORED & set((given.get("class") or "").split()))
            self.open.append(tag in NOT_READ or is_stored)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and self.open:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if not any(self.open):
            self.found.append(data)


def english_left(html: str) -> list[str]:
    """Every run of three or more English words in a page's texts and in what its controls are called."""
    texts = _Texts()
    texts.feed(html)
    runs = [run[0] for text in texts.found for run in _WORDS.finditer(text)]
    return sorted({run for run in runs if re.search("[a-z]", run)})
