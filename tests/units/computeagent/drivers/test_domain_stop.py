"""The end of a domain that was asked to power off: by itself, or by the plug."""

from collections.abc import Callable

import pytest

from computeagent.drivers.libvirt.domains import domain_stop

pytestmark = pytest.mark.libvirt


class Domain:
    """Runs until it is destroyed, or asked if it hears the power button."""

    def __init__(self, *, hears: bool = False) -> None:
        self.hears, self.is_on, self.said = hears, True, list[str]()

    def isActive(self) -> bool:  # noqa: N802 - libvirt's name
        return self.is_on

    def state(self) -> list[int]:
        return [1, 1] if self.is_on else [5, 1]

    def shutdown(self) -> None:
        self.said.append("shutdown")
        self.is_on = not self.hears

    def destroy(self) -> None:
        self.said.append("destroy")
        self.is_on = False

    def note(self, word: str) -> Callable[[], None]:
        return lambda: self.said.append(word)


@pytest.mark.parametrize(
    ("grace_s", "hears", "said"),
    [
        (0.02, False, ["shutdown", "pulled", "destroy"]),
        (0.02, True, ["shutdown"]),
        (0.0, True, ["destroy"]),
    ],
)
def test_the_plug_is_pulled_after_the_grace_and_it_is_told(grace_s: float, hears: bool, said: list[str]) -> None:
    domain = Domain(hears=hears)
    domain_stop(domain, grace_s=grace_s, plug_pulled=domain.note("pulled"))
    assert domain.said == said
