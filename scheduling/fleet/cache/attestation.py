"""What a remote attestation service says of the hosts' integrity, kept for a while.

The protocol is Open Attestation's, as Nova spoke it until 16: POST {url}/PollHosts with the names of the compute nodes.
"""

import json
import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any
from urllib.request import Request, urlopen

from scheduling.conf import scheduling_options
from scheduling.domain.hosts.host_rows import UNKNOWN_TRUST
from scheduling.models import ComputeNode

log = logging.getLogger(__name__)

MAX_BYTES = 16 * 2**20
PAUSE_S = 10.0
"""Seconds after a failed poll in which the service is left alone; the hosts are unknown meanwhile."""

Poll = Callable[[Sequence[str]], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Level:
    """`trusted`, `untrusted` or whatever else the service says; `at` is when it found that, in seconds (Unix)."""

    name: str
    at: float


@dataclass(slots=True)
class TrustCache:
    """Levels by compute node. When one that is asked for is missing or too old, all nodes are polled at once."""

    levels: dict[str, Level] = field(default_factory=dict)
    paused_until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, nodes: Iterable[str], *, poll: Poll, lifetime_s: float, now: float) -> dict[str, str]:
        """The level of each node. One that a fresh poll calls old is used this once, as in Nova."""
        names = sorted(set(nodes))
        with self.lock:
            if now >= self.paused_until and any(self._is_stale(name, lifetime_s, now) for name in names):
                self._poll(names, poll, now)
            return {name: self.levels[name].name if name in self.levels else UNKNOWN_TRUST for name in names}

    def _is_stale(self, name: str, lifetime_s: float, now: float) -> bool:
        return name not in self.levels or now - self.levels[name].at > lifetime_s

    def _poll(self, names: Sequence[str], poll: Poll, now: float) -> None:
        self.levels = {}
        try:
            self.levels = dict(_level(state, now) for state in poll(names))
        except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
            log.warning("the attestation service cannot be asked: %r; all hosts are unknown to it", error)
            self.paused_until = now + PAUSE_S
        # The service need not know every node; those it leaves out are not asked about again at once.
        for name in names:
            self.levels.setdefault(name, Level(UNKNOWN_TRUST, now))


_CACHE = TrustCache()


def trust_levels() -> dict[str, str]:
    """{compute node: level} for the whole fleet; empty where no attestation service is configured."""
    options = scheduling_options()
    if not options.attestation_url:
        return {}
    nodes = ComputeNode.objects.values_list("hypervisor_hostname", flat=True)
    return _CACHE.of(nodes, poll=hosts_poll, lifetime_s=options.attestation_lifetime_s, now=time.time())


def hosts_poll(nodes: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """One question to the service. Raises OSError (also for an HTTP status of failure), ValueError, KeyError."""
    options = scheduling_options()
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if options.attestation_auth_blob:
        headers["X-Auth-Blob"] = options.attestation_auth_blob
    body = json.dumps({"count": len(nodes), "hosts": list(nodes)}).encode()
    asked = Request(f"{options.attestation_url.rstrip('/')}/PollHosts", data=body, headers=headers, method="POST")  # noqa: S310 - the scheme is checked with the settings
    context = ssl.create_default_context(cafile=options.attestation_ca_file or None)
    with urlopen(asked, timeout=options.attestation_timeout_s, context=context) as answer:  # noqa: S310
        states: list[Mapping[str, Any]] = json.loads(answer.read(MAX_BYTES))["hosts"]
    return states


def _level(state: Mapping[str, Any], now: float) -> tuple[str, Level]:
    """A time that cannot be read makes the host unknown."""
    try:
        at = datetime.fromisoformat(str(state["vtime"]))
    except ValueError:
        return str(state["host_name"]), Level(UNKNOWN_TRUST, now)
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return str(state["host_name"]), Level(str(state["trust_lvl"]), at.timestamp())
