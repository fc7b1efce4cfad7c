"""Putting networks right that are out of step: each heal looks again, in the transaction of what it does."""

import uuid

from django.db import transaction

from controlplane.work.wakeups import wakeup_send
from controlplane.work.work import compute_queue
from servers.models import Port
from servers.networks.services.bindings import instance_ports_bind, instance_ports_unbind
from servers.networks.services.changes import NETWORKS_WAKEUP
from servers.networks.services.instance_ports import instance_ports_free
from servers.repair.selectors.network_drift import ports_elsewhere, ports_ownerless


def host_wake(*, host: str) -> bool:
    """Wake its agent, so that it asks what it is to have of networks."""
    wakeup_send(queue=compute_queue(host), code=NETWORKS_WAKEUP, ref="")
    return True


def port_bind_anew(*, port_id: uuid.UUID) -> bool:
    """Bind the ports of its instance to where that is. False when that is so by now."""
    with transaction.atomic():
        if not Port.objects.select_for_update(no_key=True).filter(pk=port_id).exists():
            return False
        port = ports_elsewhere().filter(pk=port_id).first()
        if port is None or port.instance_uuid is None:
            return False
        if host := getattr(port, "instance_host", ""):
            instance_ports_bind(instance_uuid=port.instance_uuid, host=host)
        else:
            instance_ports_unbind(instance_uuid=port.instance_uuid)
        return True


def port_free(*, port_id: uuid.UUID) -> bool:
    """The port of an instance that is not there goes, or is its owner's again. False when that is so by now."""
    with transaction.atomic():
        port = ports_ownerless().select_for_update(no_key=True, of=("self",)).filter(pk=port_id).first()
        if port is None or port.instance_uuid is None:
            return False
        instance_ports_free([port.instance_uuid])
        return True
