"""Extensions, by which clients asked what a cloud can do before there were microversions."""

from typing import Any

from django.http import HttpResponse

from controlplane.openstack.faults import not_found
from servers.openstack.compute.call import ComputeCall

NAMESPACE = "http://docs.openstack.org/compute/ext/fake_xml"
UPDATED = "2014-12-03T00:00:00Z"
EXTENSIONS = {
    "image-metadata": ("ImageMetadata", "Properties of images."),
    "images": ("Images", "Images of disks."),
    "os-aggregates": ("Aggregates", "Sets of hosts for administrators."),
    "os-attach-interfaces": ("AttachInterfaces", "Network interfaces of servers."),
    "os-availability-zone": ("AvailabilityZone", "Zones that servers are made in."),
    "os-console-output": ("ConsoleOutput", "What a server wrote to its serial console."),
    "os-consoles": ("Consoles", "Screens of servers."),
    "os-create-backup": ("CreateBackup", "Images of servers of which some are kept."),
    "os-deferred-delete": ("DeferredDelete", "Deleted servers that can be restored."),
    "os-flavor-access": ("FlavorAccess", "Flavors for some projects alone."),
    "os-flavor-extra-specs": ("FlavorExtraSpecs", "What a flavor asks of hosts."),
    "os-flavor-manage": ("FlavorManage", "Flavors are made and deleted."),
    "os-floating-ip-pools": ("FloatingIpPools", "Networks that floating addresses are of."),
    "os-floating-ips": ("FloatingIps", "Floating addresses of a project."),
    "os-hosts": ("Hosts", "Hosts and what runs on them, for administrators."),
    "os-hypervisors": ("Hypervisors", "What hosts have, for administrators."),
    "os-instance-actions": ("InstanceActions", "What was done with a server."),
    "os-instance-usage-audit-log": ("InstanceUsageAuditLog", "Which hosts have reported usage."),
    "os-keypairs": ("Keypairs", "Public keys for servers."),
    "os-lock-server": ("LockServer", "Servers are locked against changes."),
    "os-networks": ("Networks", "Networks of a project."),
    "os-pause-server": ("PauseServer", "Servers are paused."),
    "os-quota-class-sets": ("QuotaClasses", "What projects may have by default."),
    "os-quota-sets": ("Quotas", "What projects and their users may have."),
    "os-rescue": ("Rescue", "Servers are started from a rescue image."),
    "os-security-groups": ("SecurityGroups", "What may come to servers and leave them."),
    "os-server-diagnostics": ("ServerDiagnostics", "What a guest has used."),
    "os-server-external-events": ("ServerExternalEvents", "What other services tell of servers."),
    "os-server-groups": ("ServerGroups", "Servers together or apart."),
    "os-server-password": ("ServerPassword", "The password that a guest told."),
    "os-services": ("Services", "Agents of hosts, for administrators."),
    "os-shelve": ("Shelve", "Servers leave their hosts and come back."),
    "os-simple-tenant-usage": ("SimpleTenantUsage", "What projects used in a time."),
    "os-suspend-server": ("SuspendServer", "Servers are suspended to disk."),
    "os-tenant-networks": ("TenantNetworks", "Networks of a project, with less of each."),
    "os-used-limits": ("UsedLimits", "What projects use of their limits."),
    "os-volumes": ("Volumes", "Volumes of servers."),
}
"""Of Nova's aliases those of which something is here, be it in old microversions alone."""


def extensions_list(call: ComputeCall) -> HttpResponse:
    """All of them."""
    return call.answer({"extensions": [_document(alias) for alias in EXTENSIONS]})


def extension_show(call: ComputeCall, alias: str) -> HttpResponse:
    """One of them."""
    if alias not in EXTENSIONS:
        raise not_found(f"There is no extension {alias:.80}.")
    return call.answer({"extension": _document(alias)})


def _document(alias: str) -> dict[str, Any]:
    name, description = EXTENSIONS[alias]
    return {
        "alias": alias,
        "name": name,
        "description": description,
        "links": [],
        "namespace": NAMESPACE,
        "updated": UPDATED,
    }
