"""How long a guest gets to shut down, by its image; both sides know it, for nobody may give up earlier."""

from collections.abc import Mapping

OS_SHUTDOWN_TIMEOUT = "os_shutdown_timeout"
"""Nova's image property: seconds; 0 pulls the plug at once."""
OS_SHUTDOWN_TIMEOUT_MAX_S = 3600
PLUG_PULLED = "plug_pulled"
"""The step that says so: the guest was asked, and did not power off in time."""


def image_shutdown_timeout_s(properties: Mapping[str, object]) -> float | None:
    """Seconds; None where the image says nothing, or, being older than the rule, nothing that can be read."""
    text = str(properties.get(OS_SHUTDOWN_TIMEOUT, "")).strip()
    if not (text.isascii() and text.isdecimal()):
        return None
    # No more digits than the maximum has are read: the length of a number is its owner's.
    return float(min(int(text[:10]), OS_SHUTDOWN_TIMEOUT_MAX_S))
