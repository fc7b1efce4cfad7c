"""What the door leaves running in a process."""

from collections.abc import Iterator

import pytest

from controlplane.work.wakeups.hub import wakeup_hub
from servers.agent_door.asker import secret_refusals_forget
from servers.agent_door.connected import connected_agents


@pytest.fixture(autouse=True)
def nobody_refused() -> None:
    """The log was told of nobody yet."""
    secret_refusals_forget()


@pytest.fixture(autouse=True)
def hub_closed() -> Iterator[None]:
    """No thread keeps a connection to a database that is removed."""
    yield
    connected_agents().close()
    wakeup_hub().close()
