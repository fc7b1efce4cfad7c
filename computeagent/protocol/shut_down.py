"""How long a guest gets to shut down, by its image; both sides know it, for nobody may give up earlier."""

from collections.abc import Mapping

OS_SHUTDOWN_TIMEOUT = "os_shutdown_timeout"
"""Nova's image property: seconds; 0 pulls the plug at once."""
OS_SHUTDOWN_TIMEOUT_MAX_S = 3600
SHUTDOWN_TIMEOUT_S, SOFT_REBOOT_TIMEOUT_S = 60.0, 120.0
"""What a host gives where nobody says otherwise: Nova's defaults of shutdown_timeout and wait_soft_reboot_seconds."""
SHUTDOWN_TIMEOUT_MAX_S = 600.0
"""The most that a host's settings give, of either. Deadlines of the control plane are longer."""
PLUG_PULLED = "plug_pulled"
"""The step that says so: the guest was asked, and did not power off in time."""


def image_shutdown_timeout_s(properties: Mapping[str, object]) -> float | None:
    """Seconds; None where the image says nothing, or, being older than the rule, nothing that can be read."""
    text = str(properties.get(OS_SHUTDOWN_TIMEOUT, "")).strip()
    if not (text.isascii() and text.isdecimal()):
        return None
    # No more digits than the maximum has are read: the length of a number is its owner's.
    return float(min(int(text[:10]), OS_SHUTDOWN_TIMEOUT_MAX_S))
