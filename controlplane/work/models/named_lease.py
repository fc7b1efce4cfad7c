"""Named leases: which process does a periodic job now, so that not all do, and which agent serves a host."""

from django.db import models


class NamedLease(models.Model):
    """One row per periodic job, held until `until` by the database's clock; and one per host for its agent, which
    another one gets only for a reason (see `ownerships`).
    """

    name = models.CharField(max_length=60, primary_key=True)
    owner = models.CharField(max_length=200)
    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.owner}"
