"""The end of a domain that was asked to power off: by itself, or by the plug."""

from collections.abc import Callable

import pytest

from computeagent.drivers.libvirt.binding import libvirt
from computeagent.drivers.libvirt.shutting_down import ASK_AGAIN_S, domain_stop, domains_stop

pytestmark = pytest.mark.libvirt
ACPI, AGENT = libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN, libvirt.VIR_DOMAIN_SHUTDOWN_GUEST_AGENT
SILENCE_S = 5.0
"""How long libvirt waits for an agent that opened its port and says nothing."""


class Domain:
    """Runs until it is destroyed. What it `hears` switches it off at once; or after `lasts` looks at it."""

    def __init__(self, *, hears: str = "", has_silent_agent: bool = False, lasts: int = 0) -> None:
        self.hears, self.has_silent_agent, self.lasts = hears, has_silent_agent, lasts
        self.is_on, self.said, self.now = True, list[str](), 0.0
        self.is_going = self.is_asleep = False
        self.refusals = self.misses = 0
        self.look_s = 0.0

    def clock(self) -> float:
        return self.now

    def isActive(self) -> bool:  # noqa: N802 - libvirt's name
        self.now += self.look_s
        if self.is_going:
            self.is_on = self.lasts > 0
            self.lasts -= 1
        return self.is_on

    def state(self) -> list[int]:
        if self.is_asleep:
            return [libvirt.VIR_DOMAIN_PMSUSPENDED, 0]
        return [1, 1] if self.is_on else [5, 1]

    def pMWakeup(self, flags: int) -> None:  # noqa: N802 - libvirt's name
        assert flags == 0
        self.said.append("wake")
        self.is_asleep = False

    def shutdownFlags(self, flags: int) -> None:  # noqa: N802 - libvirt's name
        asked = {ACPI: "button", AGENT: "agent"}[flags]
        if self.is_asleep or self.refusals:
            self.refusals -= 1
            raise libvirt.libvirtError("cannot be asked now")
        if asked == "agent" and self.has_silent_agent:
            self.now += SILENCE_S
        if asked == "agent" and self.hears != "agent":
            raise libvirt.libvirtError("the guest agent does not answer")
        self.said.append(asked)
        if asked == self.hears and self.misses:
            self.misses -= 1
        elif asked == self.hears:
            self.is_going = True

    def destroy(self) -> None:
        self.said.append("destroy")
        self.is_on = self.is_going = False

    def note(self, word: str) -> Callable[[], None]:
        return lambda: self.said.append(word)


@pytest.mark.parametrize(
    ("grace_s", "hears", "said"),
    [
        (0.02, "", ["button", "pulled", "destroy"]),
        (60.0, "button", ["button"]),
        (60.0, "agent", ["button", "agent"]),
        (0.0, "button", ["destroy"]),
    ],
)
def test_the_plug_is_pulled_after_the_grace_and_it_is_told(grace_s: float, hears: str, said: list[str]) -> None:
    domain = Domain(hears=hears)
    domain_stop(domain, grace_s=grace_s, plug_pulled=domain.note("pulled"))
    assert domain.said == said


def test_silent_agent_takes_no_time_of_a_guest_that_hears_the_power_button() -> None:
    domain = Domain(hears="button", has_silent_agent=True, lasts=2)
    domain_stop(domain, grace_s=SILENCE_S, plug_pulled=domain.note("pulled"), clock=domain.clock)
    assert domain.said == ["button"]


def test_guest_that_sleeps_is_woken_to_be_shut_down() -> None:
    domain = Domain(hears="button")
    domain.is_asleep = True
    domain_stop(domain, grace_s=60.0, plug_pulled=domain.note("pulled"))
    assert domain.said == ["wake", "button"]


def test_guest_that_cannot_be_asked_now_is_asked_again_and_keeps_its_time() -> None:
    domain = Domain(hears="button")
    domain.refusals = 2
    domain_stop(domain, grace_s=60.0, plug_pulled=domain.note("pulled"))
    assert domain.said == ["button"]


def test_guest_that_missed_the_power_button_while_it_started_is_asked_again() -> None:
    domain = Domain(hears="button")
    domain.misses, domain.look_s = 2, ASK_AGAIN_S
    domain_stop(domain, grace_s=10 * ASK_AGAIN_S, plug_pulled=domain.note("pulled"), clock=domain.clock)
    assert domain.said == ["button", "button", "button"]


def test_guest_that_takes_its_time_is_not_asked_at_each_look() -> None:
    domain = Domain(hears="button", lasts=4)
    domain.look_s = ASK_AGAIN_S / 8
    domain_stop(domain, grace_s=10 * ASK_AGAIN_S, plug_pulled=domain.note("pulled"), clock=domain.clock)
    assert domain.said == ["button"]


def test_all_are_asked_before_any_is_waited_for_also_by_their_agents() -> None:
    deaf, minds_agent = Domain(), Domain(hears="agent")
    domains_stop([deaf, minds_agent], grace_s=0.02)
    assert deaf.said == ["button", "destroy"]
    assert minds_agent.said == ["button", "agent"]


def test_of_several_that_get_no_time_none_is_asked() -> None:
    domains = [Domain(hears="button"), Domain(hears="button")]
    domains_stop(domains, grace_s=0.0)
    assert [domain.said for domain in domains] == [["destroy"], ["destroy"]]
