"""What the door keeps of who was refused."""

import pytest

from servers.agent_door.asker import secret_refusals_forget


@pytest.fixture(autouse=True)
def nobody_refused() -> None:
    """The log was told of nobody yet."""
    secret_refusals_forget()
