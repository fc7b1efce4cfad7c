"""What an operator may set on one agent. Every value has a default that suits a small host."""

from dataclasses import dataclass

from computeagent.protocol.shut_down import SHUTDOWN_TIMEOUT_S, SOFT_REBOOT_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Limits and intervals of one agent. Times are seconds."""

    max_concurrent_builds: int = 2
    concurrent_snapshots: int = 2
    """Threads that copy disks and send them. Nova's max_concurrent_snapshots is 5."""
    concurrent_volume_work: int = 4
    """Threads that work on volumes, most of which copy."""
    concurrent_actions: int = 2
    """Threads for everything but builds, so that nothing else waits behind one."""
    slow_work_s: float = 10.0
    """Work that takes longer than this does not count against `concurrent_actions`: it gets a thread of its own."""
    wakeup_wait_s: float = 45.0
    reconcile_interval_s: float = 30.0
    resource_interval_s: float = 60.0
    power_sync_interval_s: float = 15.0
    """How often all guests are looked at. One that the hypervisor tells a change of is looked at then."""
    console_interval_s: float = 1.0
    console_max_interval_s: float = 30.0
    """How seldom a log is shipped that changes each time it is read; one that is quiet once comes at once again."""
    console_max_bytes: int = 64 * 1024
    counters_interval_s: float = 60.0
    """How often the guests' counters are sent; 0: never."""
    images_interval_s: float = 30.0
    """How often base images are looked at, and those asked for that this host was told to have."""
    images_take_s: float = 6 * 3600.0
    """How long fetching them may take at most."""
    networks_interval_s: float = 30.0
    """How often networks of this host are looked at where no wake-up says that they changed."""
    volumes_present_interval_s: float = 300.0
    """How often all that the pools of this host have is told."""
    metadata_interval_s: float = 60.0
    """How often what guests are told of themselves is looked at beside each look at networks."""
    shutdown_timeout_s: float = SHUTDOWN_TIMEOUT_S
    """How long a guest may take to power off by itself before the plug is pulled, where its image says nothing."""
    soft_reboot_timeout_s: float = SOFT_REBOOT_TIMEOUT_S
    """The same for a soft reboot, whatever its image says: Nova's wait_soft_reboot_seconds."""
    unplug_timeout_s: float = 120.0
    """How long a guest may take to let go of a network card; it is asked several times."""
    shutdown_s: float = 8.0
    """How long work under way may take to end after the agent was asked to stop."""
    watchdog_s: float = 120.0
    """How long past its interval a periodic thread may be silent before the process ends itself."""
    resume_guests_state_on_host_boot: bool = True
    trust_listing: bool = False
    """Whether the hypervisor's list of guests is believed at the start though an earlier run did not."""
    reap_orphans: bool = True
    """Whether guests that no instance explains are removed; when, the control plane says."""
