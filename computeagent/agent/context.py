"""What the parts of one agent share."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from computeagent.agent.asking import Asking
from computeagent.agent.guest_events import GuestEvents
from computeagent.agent.held_leases import HeldLeases
from computeagent.agent.host_report import HostReports
from computeagent.agent.instance_mutex import InstanceMutex
from computeagent.agent.networking import Networking
from computeagent.agent.options import AgentOptions
from computeagent.agent.resource_tracker import ResourceTracker
from computeagent.agent.retry import Retry
from computeagent.agent.safe_mode import SafeMode
from computeagent.agent.volumes import HostVolumes
from computeagent.agent.work_queues import Inbox
from computeagent.drivers.base import Driver
from computeagent.protocol.conductor import Conductor
from controlplane.kernel.complaints import Complaints


class Counts:
    """How often things happened since the start, by name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counter: Counter[str] = Counter()

    def add(self, name: str) -> None:
        """Once more."""
        with self._lock:
            self._counter[name] += 1

    def __getitem__(self, name: str) -> int:
        with self._lock:
            return self._counter[name]


class GuestChanges:
    """News of guests from the threads that change them, for those that report them."""

    def __init__(self) -> None:
        self.happened = threading.Event()
        self._lock = threading.Lock()
        self._fresh: set[str] = set()
        self._reported_missing: set[str] = set()

    def note(self, instance_uuid: str) -> None:
        """A guest came, went, or changed its power state."""
        with self._lock:
            self._fresh.add(instance_uuid)
        self.happened.set()

    def take_fresh(self) -> set[str]:
        """The guests noted since the last call."""
        with self._lock:
            fresh, self._fresh = self._fresh, set()
            return fresh

    def note_missing(self, instance_uuids: Iterable[str]) -> None:
        """These guests were reported as missing: what was reported of them before does not stand any more."""
        with self._lock:
            self._reported_missing.update(instance_uuids)

    def take_missing(self) -> set[str]:
        """The guests reported as missing since the last call."""
        with self._lock:
            missing, self._reported_missing = self._reported_missing, set()
            return missing


@dataclass(frozen=True, slots=True)
class AgentContext:
    """One agent's identity, its two doors (conductor and driver) and its shared state."""

    host: str
    owner: str
    """Names this process in leases: host and a token of this run, so that two runs of one host differ."""
    conductor: Conductor
    driver: Driver
    reports: HostReports
    state_dir: Path
    options: AgentOptions
    clock: Callable[[], float]
    pause: Callable[[float], object]
    retry: Retry
    guest_events: GuestEvents
    networking: Networking
    volumes: HostVolumes
    held_leases: HeldLeases = field(default_factory=HeldLeases)
    instance_mutex: InstanceMutex = field(default_factory=InstanceMutex)
    inbox: Inbox = field(default_factory=Inbox)
    tracker: ResourceTracker = field(default_factory=ResourceTracker)
    safe_mode: SafeMode = field(default_factory=SafeMode)
    changes: GuestChanges = field(default_factory=GuestChanges)
    counts: Counts = field(default_factory=Counts)
    complaints: Complaints = field(default_factory=Complaints)
    consoles_wanted: threading.Event = field(default_factory=threading.Event)
    volumes_wanted: Asking = field(default_factory=lambda: Asking(time.monotonic))
    images_wanted: Asking = field(default_factory=lambda: Asking(time.monotonic))
