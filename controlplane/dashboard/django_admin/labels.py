"""Labels of columns and fields as people write them: MiB and vCPUs instead of what Django makes of a column's name."""

from django.db.models import Model
from django.utils.translation import gettext_lazy

from controlplane.dashboard.django_admin.labels_first import FIRST
from controlplane.dashboard.django_admin.labels_rest import REST

WORDS = {
    "vm": "VM",
    "vcpu": "virtual CPU",
    "vcpus": "virtual CPUs",
    "cpu": "CPU",
    "ram": "RAM",
    "mib": "(MiB)",
    "gib": "(GiB)",
    "bytes": "(bytes)",
    "mac": "MAC",
    "mtu": "MTU",
    "id": "ID",
    "uuid": "ID",
    "ip": "IP",
    "ipv6": "IPv6",
    "url": "URL",
    "cidr": "CIDR",
    "dhcp": "DHCP",
    "dns": "DNS",
    "snat": "SNAT",
    "numa": "NUMA",
    "pci": "PCI",
    "vnic": "vNIC",
    "qos": "QoS",
    "os": "OS",
    "ovn": "OVN",
    "sha256": "SHA-256",
    "us": "(µs)",
    "ms": "(ms)",
}
LABELS = frozenset((*FIRST, *REST))
"""Those that are marked for translation; others are names of models, which model_names.py marks."""
UNITS = {"s": "(s)"}


def label_of(name: str) -> str:
    """`memory_mib` as "memory (MiB)", `is_enabled` as "enabled", `step_s` as "step (s)"."""
    words = name.removeprefix("is_").removeprefix("has_").split("_")
    shown = [WORDS.get(word, word) for word in words]
    if len(words) > 1:
        shown[-1] = UNITS.get(words[-1], shown[-1])
    return " ".join(shown)


def labels_improve(model: type[Model]) -> None:
    """Give fields whose label Django made up a better one, and show all labels in the reader's language.

    What migrations know of them stays as it is.
    """
    for field in model._meta.local_fields:
        if getattr(field, "_verbose_name", None) is None and field.name:
            field.verbose_name = label_of(field.name)
    for each in (*model._meta.local_fields, *model._meta.local_many_to_many):
        each.verbose_name = gettext_lazy(str(each.verbose_name))
