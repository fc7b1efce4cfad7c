"""Networks that a hypervisor already has, and the ports of instances on them."""

from django.db import models

from controlplane.infra.models import Timestamped, UuidKeyed


class Network(UuidKeyed, Timestamped):
    """API scope. A name for users, over the name that hypervisors know the network by."""

    name = models.CharField(max_length=255, unique=True)
    hypervisor_network = models.CharField(max_length=255, help_text="The hypervisor's own name, such as `default`.")
    is_default = models.BooleanField(default=False, help_text="Instances that ask for no network get this one.")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"],
                condition=models.Q(is_default=True),
                name="network_one_default",
                violation_error_message="Another network is the default already.",
            )
        ]

    def __str__(self) -> str:
        return self.name


class Port(UuidKeyed, Timestamped):
    """Cell scope. One interface of one instance; `network_id` and `network_name` are copies."""

    instance_uuid = models.UUIDField(db_index=True)
    mac = models.CharField(max_length=17, unique=True, error_messages={"unique": "Another port has this MAC address."})
    network_id = models.UUIDField(null=True, blank=True)
    network_name = models.CharField(max_length=255)
    hypervisor_network = models.CharField(max_length=255)
    addresses = models.JSONField(default=list, blank=True, help_text="IP addresses, once known.")

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.mac
