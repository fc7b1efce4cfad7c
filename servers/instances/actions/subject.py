"""What the rules of actions look at."""

from datetime import datetime
from typing import Protocol


class Subject(Protocol):
    """What is looked at of an instance, or of the build request that stands for one."""

    @property
    def vm_state(self) -> str: ...
    @property
    def task_state(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def launched_at(self) -> datetime | None: ...
