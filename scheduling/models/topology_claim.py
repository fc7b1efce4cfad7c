"""What one instance has of a host's NUMA cells and PCI devices, beside its allocations."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from scheduling.models.compute_node import ComputeNode


class TopologyClaim(models.Model):
    """Cell scope. Written with the instance's allocations in one transaction, and freed with them.

    `numa` is the placed guest as `computeagent.protocol.topology_json` writes it; empty for one without constraints.
    `pci_devices` are objects with `address`, `alias` and `request_id`. `problem` says what the host no longer has of
    it: a cell that is gone, a CPU that is not offered any more.
    """

    consumer_uuid = models.UUIDField(primary_key=True, help_text=_("The instance."))
    compute_node = models.ForeignKey(ComputeNode, on_delete=models.CASCADE, related_name="topology_claims")
    numa = JsonField(null=True, blank=True, help_text=_("Host cells, pinned CPUs and page sizes of the guest."))
    pci_devices = JsonField(default=list, blank=True, help_text=_("Addresses of its devices, and who asked."))
    problem = models.TextField(blank=True, help_text=_("What the host does not have any more."))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "consumer_uuid"]

    def __str__(self) -> str:
        return f"{self.consumer_uuid} on {self.compute_node_id}"
