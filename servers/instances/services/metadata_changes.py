"""Telling a host that what one of its guests reads of itself is another now."""

from computeagent.protocol.networks import NetworkBackendKind
from servers.models import Instance, Port
from servers.networks.services.changes import networks_changed


def guest_documents_changed(instance: Instance) -> None:
    """In the transaction of the change. A guest without an address of ours is told nothing."""
    ours = (NetworkBackendKind.BRIDGE.value, NetworkBackendKind.OVN.value)
    if instance.host and Port.objects.filter(instance_uuid=instance.pk, network__kind__in=ours).exists():
        networks_changed(hosts=[instance.host])
