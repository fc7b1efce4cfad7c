"""How large a demo is, and where all that looks like chance in it comes from."""

import random
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.kernel.errors import Invalid

NAMESPACE = uuid.UUID("7d0c2d1c-6b1e-4a55-9c39-0f5a6f1f3b10")
MIN_HOSTS, MAX_HOSTS = 8, 20_000
MAX_INSTANCES_PER_HOST = 40
MANY_HOSTS = 1000


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """The size of a demo. The same size and seed give the same fleet, whose times are counted back from `now`."""

    hosts: int
    instances: int
    seed: int
    now: datetime

    def check(self) -> None:
        """Raise Invalid for a size that no demo can have."""
        if not MIN_HOSTS <= self.hosts <= MAX_HOSTS:
            raise Invalid(f"A demo has {MIN_HOSTS} to {MAX_HOSTS:,} hosts.", field="hosts")
        if not 0 <= self.instances <= self.hosts * MAX_INSTANCES_PER_HOST:
            raise Invalid(
                f"A demo has at most {MAX_INSTANCES_PER_HOST} instances for each of its hosts.", field="instances"
            )

    def rng(self, subject: str) -> random.Random:
        """The numbers of one subject. Each has its own, so that a change to one changes no other."""
        return random.Random(f"{self.seed} {subject}")  # noqa: S311 - what a demo shows is no secret

    def uuid(self, subject: str, name: object) -> uuid.UUID:
        """The id of one thing, the same at each run."""
        return uuid.uuid5(NAMESPACE, f"{self.seed} {subject} {name}")

    def request_id(self, subject: str, name: object) -> str:
        """The id of a request, the same at each run."""
        return f"req-{self.uuid(subject, name)}"

    def ago(self, **amount: float) -> datetime:
        """A moment before now; the arguments are those of timedelta."""
        return self.now - timedelta(**amount)

    @property
    def zones(self) -> int:
        """How many availability zones its hosts are in."""
        return 10 if self.hosts >= MANY_HOSTS else max(2, min(6, self.hosts // 40))

    def some(self, share: float, *, minimum: int = 1) -> int:
        """So many hosts as are this share of all."""
        return max(minimum, round(self.hosts * share))
