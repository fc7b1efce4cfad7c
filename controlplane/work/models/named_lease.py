"""Thrift, not correctness: which process does a periodic job now, so that not all do."""

from django.db import models


class NamedLease(models.Model):
    """One row per periodic job; whoever holds it runs the job until `until` by the database's clock."""

    name = models.CharField(max_length=60, primary_key=True)
    owner = models.CharField(max_length=200)
    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.owner}"
