"""How the server under test has to be set up for a file: who may do what, and whether browsers of others may ask."""

from enum import StrEnum

CORS_ORIGIN = "http://valid.example.com"


class Mode(StrEnum):
    """One set-up of the server; a file runs in exactly one."""

    LEGACY = "legacy"
    """Administrators may do everything, others nothing."""
    SECURE = "secure"
    """Roles within a project count: administrators, services, readers."""
    OPEN = "open"
    """Whoever has a token may do everything."""
    CORS = "cors"
    """As legacy, and one foreign origin is allowed."""


MODE_OF_FIXTURE = {
    "SecureRBACPolicyFixture": Mode.SECURE,
    "OpenPolicyFixture": Mode.OPEN,
    "CORSFixture": Mode.CORS,
}


def mode_of(fixture: str) -> Mode:
    """The mode a fixture switches on; most only build a world and leave the service as it is."""
    return MODE_OF_FIXTURE.get(fixture, Mode.LEGACY)


def settings_of(mode: Mode) -> dict[str, str]:
    """The environment that sets a Kilonova up for `mode`."""
    if mode is Mode.CORS:
        return {"PLACEMENT_TEST_IDENTITY": Mode.LEGACY.value, "PLACEMENT_CORS_ORIGINS": CORS_ORIGIN}
    return {"PLACEMENT_TEST_IDENTITY": mode.value, "PLACEMENT_CORS_ORIGINS": ""}
