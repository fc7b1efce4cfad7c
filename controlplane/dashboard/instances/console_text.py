"""The serial console as a page can show it: a terminal's control sequences taken out, the text left."""

import re

# CSI sequences (colours, cursor moves), OSC sequences (titles), other two-byte escapes, then lone control characters.
CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f]"
)


def printable_text(raw: str) -> str:
    """Printable characters, tabs and line ends only."""
    return CONTROL.sub("", raw.replace("\r\n", "\n"))
