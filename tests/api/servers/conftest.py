"""What agents leave running in a process that they asked."""

from collections.abc import Iterator

import pytest

from controlplane.work.wakeups.hub import wakeup_hub
from servers.agent_door.connected import connected_agents


@pytest.fixture(autouse=True)
def hub_closed() -> Iterator[None]:
    """No thread keeps a connection to a database that is removed."""
    yield
    connected_agents().close()
    wakeup_hub().close()
