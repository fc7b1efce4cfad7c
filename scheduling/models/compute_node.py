"""A compute node: one hypervisor, as its driver reported it."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed
from controlplane.infra.natural_order import natural_order
from scheduling.models.service import Service


class ComputeNode(UuidKeyed, Timestamped):
    """Cell scope. Its id is also the uuid of its resource provider in Placement.

    Totals and `*_used` are the hypervisor's own view; what is promised to instances stands in Placement.
    `disk_available_least_gib` may be negative (sparse disks that could grow past the pool).
    """

    service = models.ForeignKey(Service, on_delete=models.CASCADE, related_name="compute_nodes")
    host = models.CharField(max_length=255, db_index=True)
    hypervisor_hostname = models.CharField(max_length=255)
    hypervisor_type = models.CharField(max_length=64)
    hypervisor_version = models.PositiveBigIntegerField(default=0)
    virt_type = models.CharField(max_length=32, blank=True, help_text=_("kvm, qemu, test ..."))
    arch = models.CharField(max_length=32, blank=True)
    vcpus = models.PositiveIntegerField(help_text=_("CPUs that guests share."))
    dedicated_vcpus = models.PositiveIntegerField(
        default=0, help_text=_("CPUs that guests have pinned for themselves.")
    )
    vgpus = models.PositiveIntegerField(
        null=True, blank=True, help_text=_("Virtual GPUs of its cards; empty for a host that says nothing of any.")
    )
    memory_mib = models.PositiveBigIntegerField()
    disk_gib = models.PositiveBigIntegerField()
    vcpus_used = models.PositiveIntegerField(default=0)
    memory_used_mib = models.PositiveBigIntegerField(default=0)
    disk_used_gib = models.PositiveBigIntegerField(default=0)
    disk_available_least_gib = models.BigIntegerField(default=0)
    running_guests = models.PositiveIntegerField(default=0)
    host_ip = models.CharField(max_length=64, blank=True)
    cpu_info = JsonField(default=dict, blank=True)
    supported_instances = JsonField(
        default=list, blank=True, help_text=_("Triples of architecture, hypervisor type and vm mode.")
    )
    traits = JsonField(default=list, blank=True, help_text=_("Traits the driver reported, to tell them from others."))
    machines = JsonField(
        default=list, blank=True, help_text=_("Machine types of guests by what they have; empty: it does not say.")
    )
    guest_cpu = JsonField(
        default=dict,
        blank=True,
        help_text=_("Mode, models and flags of the CPU that its guests get; empty: it does not say."),
    )
    stats = JsonField(default=dict, blank=True)
    metrics = JsonField(default=dict, blank=True, help_text=_("Numbers by name, as of metrics_at."))
    metrics_at = models.DateTimeField(null=True, blank=True, help_text=_("By the database's clock."))
    clock_skew_s = models.FloatField(
        null=True,
        blank=True,
        help_text=_("Seconds that the host's clock is ahead of the control plane's; below 0: behind."),
    )
    clock_error_s = models.FloatField(null=True, blank=True, help_text=_("How far off that may be, in seconds."))
    agent_version = models.CharField(max_length=64, blank=True)
    protocol_version = models.PositiveIntegerField(default=0)
    libvirt_version = models.CharField(max_length=64, blank=True)
    safe_mode = models.CharField(
        max_length=500,
        blank=True,
        help_text=_("Why its agent destroys and starts nothing now: the hypervisor's answers contradict each other."),
    )
    networks_lack = models.CharField(
        max_length=500, blank=True, help_text=_("What it lacks to carry networks that it was meant to carry.")
    )
    kernel_version = models.CharField(max_length=128, blank=True)
    os_name = models.CharField(max_length=128, blank=True)
    numa_topology = JsonField(
        null=True, blank=True, help_text=_("NUMA cells with what instances use of them; empty for a host without NUMA.")
    )
    pci_pools = JsonField(
        default=list, blank=True, help_text=_("Equal free PCI devices, counted; what the scheduler looks at.")
    )
    failed_builds = models.PositiveIntegerField(
        default=0,
        help_text=_("Builds failed by this host since the last that worked; a weigher avoids it for a while."),
    )

    class Meta:
        ordering = ["host", "hypervisor_hostname"]
        # Lists and the map of the fleet have hosts in the order in which people count.
        indexes = [models.Index(*natural_order("host"), "hypervisor_hostname", name="compute_node_by_host")]
        constraints = [
            models.UniqueConstraint(
                fields=["host", "hypervisor_hostname"],
                name="compute_node_once_per_host",
                violation_error_message="This host has reported this hypervisor already.",
            ),
            models.CheckConstraint(
                condition=~Q(hypervisor_hostname=""),
                name="compute_node_has_name",
                violation_error_message="A compute node has a hypervisor_hostname.",
            ),
        ]

    def __str__(self) -> str:
        return self.hypervisor_hostname
