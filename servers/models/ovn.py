"""What OVN has yet to be told, and how far it is."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from servers.networks.domain.names import OvnSubject


class OvnChange(models.Model):
    """API scope. That something changed, written in the transaction of the change and removed once OVN has it.

    Rows are only added, never changed by those who add them: who changes one thing waits for nobody, and a change
    during the work on an earlier one is a row of its own that stays.
    """

    id = models.BigAutoField(primary_key=True)
    subject = models.CharField(max_length=8, choices=[(one.value, one.value) for one in OvnSubject])
    subject_id = models.UUIDField()
    noted_at = models.DateTimeField(help_text=_("By the database's clock."))
    attempts = models.PositiveIntegerField(default=0)
    retry_at = models.DateTimeField(null=True, blank=True, help_text=_("When it is tried again, after OVN refused it."))
    problem = models.TextField(blank=True, help_text=_("Why OVN refused it."))

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["subject", "subject_id"], name="ovn_change_of_subject")]

    def __str__(self) -> str:
        return f"{self.subject} {self.subject_id}"


class OvnCheck(models.Model):
    """API scope. One row: the connection to OVN, and what the last whole comparison found."""

    name = models.CharField(max_length=32, primary_key=True)
    owner = models.CharField(max_length=200, blank=True, help_text=_("The process that tells OVN."))
    is_connected = models.BooleanField(default=False)
    problem = models.TextField(blank=True, help_text=_("Why it is not connected."))
    changed_at = models.DateTimeField(null=True, blank=True, help_text=_("When that began."))
    checked_at = models.DateTimeField(null=True, blank=True, help_text=_("When all was compared last."))
    took_s = models.FloatField(default=0.0)
    rows = models.PositiveIntegerField(default=0, help_text=_("Rows of OVN's database that are wanted."))
    differed = models.PositiveIntegerField(
        default=0, help_text=_("Rows that were not as they should be, and were healed.")
    )
    differences = JsonField(default=list, blank=True, help_text=_("Sentences about the first of them."))

    class Meta:
        verbose_name = "OVN check"

    def __str__(self) -> str:
        return self.name
