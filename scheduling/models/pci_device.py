"""One PCI device of a host that guests may have."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.pci import DeviceState, DeviceType
from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed
from scheduling.models.compute_node import ComputeNode

STATES = [(each.value, each.value.title()) for each in DeviceState]
TYPES = [(each.value, each.value) for each in DeviceType]


class PciDevice(UuidKeyed, Timestamped):
    """Cell scope. As the host reported it; `state` and `owner_uuid` are the control plane's.

    The row of a device that is gone stays, as `removed`, for as long as an instance has it.
    """

    compute_node = models.ForeignKey(ComputeNode, on_delete=models.CASCADE, related_name="pci_devices")
    address = models.CharField(max_length=32, help_text=_("Such as 0000:81:00.1."))
    vendor_id = models.CharField(max_length=4)
    product_id = models.CharField(max_length=4)
    dev_type = models.CharField(max_length=16, choices=TYPES)
    numa_node = models.IntegerField(null=True, blank=True, help_text=_("Empty where the host does not say."))
    parent_address = models.CharField(max_length=32, blank=True, help_text=_("The card of a virtual function."))
    label = models.CharField(max_length=255, blank=True)
    tags = JsonField(default=dict, blank=True, help_text=_("Of the device spec that lets guests have it."))
    state = models.CharField(max_length=16, choices=STATES, default=DeviceState.AVAILABLE.value)
    owner_uuid = models.UUIDField(null=True, blank=True, db_index=True, help_text=_("The instance that has it."))

    class Meta:
        ordering = ["compute_node", "address"]
        constraints = [
            models.UniqueConstraint(
                fields=["compute_node", "address"],
                name="pci_device_once_per_node",
                violation_error_message="This node has a device of this address already.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.address} of {self.compute_node_id}"
