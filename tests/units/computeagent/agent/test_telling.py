"""Messages about many guests go in parts."""

from types import SimpleNamespace
from typing import Any, cast

from computeagent.agent.context import AgentContext
from computeagent.agent.telling import guests_returned_tell, power_states_tell
from computeagent.protocol.bounds import GUESTS_TOGETHER
from computeagent.protocol.guests import GuestFacts, GuestReturn
from computeagent.protocol.power import PowerState


class Heard:
    """A control plane that keeps what it hears."""

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def power_states(self, *, host: str, facts: dict[str, GuestFacts]) -> None:
        """See Conductor."""
        self._hear(host, facts)

    def guests_returned(self, *, host: str, returns: list[GuestReturn]) -> None:
        """See Conductor."""
        self._hear(host, returns)

    def _hear(self, host: str, part: Any) -> None:
        assert host == "h1"
        self.parts.append(part)


def context(heard: Heard) -> AgentContext:
    return cast("AgentContext", SimpleNamespace(host="h1", conductor=heard))


def test_power_states_of_many_guests_go_in_parts_and_none_is_left_out() -> None:
    facts = {str(at): GuestFacts(PowerState.RUNNING) for at in range(2 * GUESTS_TOGETHER + 1)}
    heard = Heard()
    power_states_tell(context(heard), facts)
    assert [len(part) for part in heard.parts] == [GUESTS_TOGETHER, GUESTS_TOGETHER, 1]
    assert {uuid: each for part in heard.parts for uuid, each in part.items()} == facts


def test_what_came_back_after_a_start_goes_in_parts() -> None:
    returns = [GuestReturn(str(at), PowerState.SHUTDOWN) for at in range(GUESTS_TOGETHER + 1)]
    heard = Heard()
    guests_returned_tell(context(heard), returns)
    assert [each for part in heard.parts for each in part] == returns
    assert len(heard.parts) == 2
