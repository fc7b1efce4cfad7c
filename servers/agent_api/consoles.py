"""The verbs about consoles that people type into."""

from computeagent.protocol.consoles import ConsoleOrder
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.ids import parse_uuid
from servers.agent_api.reached import OwnedHost, database_reached
from servers.consoles.selectors import consoles_wanted
from servers.consoles.services import console_failed


class ConsoleVerbs(OwnedHost):
    """See `computeagent.protocol.conductor.Conductor`."""

    def consoles_wanted(self, *, host: str) -> list[ConsoleOrder]:
        """See Conductor."""
        with database_reached():
            return consoles_wanted(host=host)

    def console_failed(
        self, *, host: str, session_id: str, message: str, failure_class: FailureClass = FailureClass.HOST
    ) -> None:
        """See Conductor."""
        found = parse_uuid(session_id)
        if found is not None:
            with database_reached(), self._owned(host):
                console_failed(host=host, session_id=found, message=message, failure_class=failure_class)
