"""What the form of an action offers to choose from: the volumes, networks and cards that its arguments may name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Q

from controlplane.dashboard.instances.interface_fields import port_label
from controlplane.identity.domain import Caller
from controlplane.kernel.units import gib_text
from servers.instances.actions.interfaces import ATTACH_INTERFACE, DETACH_INTERFACE
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.volumes import ATTACH_VOLUME, DETACH_VOLUME
from servers.instances.selectors.block_devices import instance_volumes
from servers.instances.selectors.interfaces import instance_interfaces
from servers.instances.services.nics import networks_usable
from servers.networks.domain.names import VnicType
from servers.networks.selectors.ports import ports_unused
from servers.volumes.domain.states import VolumeState
from servers.volumes.selectors.volumes import volumes_visible

MAX_CHOICES = 100
Choices = Sequence[tuple[str, str]]


def action_choices(rule: ActionRule, caller: Caller, instance: Any) -> dict[str, Choices]:
    """{argument: (value, words) each}. Into an argument that is not among them anything is written: it names no thing,
    or there are more of it than anybody would choose from.
    """
    # The instance's project decides what it may have, whoever asks for it.
    owner = replace(caller, own_project_id=instance.project_id)
    offered = {argument: offer(owner, instance) for argument, offer in OFFERS.get(rule.name, {}).items()}
    return {argument: choices for argument, choices in offered.items() if len(choices) <= MAX_CHOICES}


def _volumes_to_attach(owner: Caller, instance: Any) -> Choices:
    free = Q(state=VolumeState.AVAILABLE) | Q(state=VolumeState.IN_USE, is_multiattach=True)
    rows = volumes_visible(owner).filter(free, project_id=instance.project_id)
    rows = rows.exclude(attachments__instance_uuid=instance.pk).order_by("name", "pk")
    return [(str(one.pk), f"{one.name or one.pk}, {gib_text(one.size_gib)}") for one in rows[: MAX_CHOICES + 1]]


def _volumes_attached(_owner: Caller, instance: Any) -> Choices:
    disks = [one for one in instance_volumes(instance) if one.volume_id and not one.is_root]
    return [(str(one.volume_id), ", ".join(filter(None, (_name(one), one.device)))) for one in disks]


def _name(disk: Any) -> str:
    return f"{disk.volume_name or disk.volume_id}, {gib_text(disk.size_gib)}"


def _networks(owner: Caller, _instance: Any) -> Choices:
    rows = networks_usable(owner).order_by("name", "pk")
    return [(str(one.pk), one.name or str(one.pk)) for one in rows[: MAX_CHOICES + 1]]


def _ports(owner: Caller, _instance: Any) -> Choices:
    """Without those of a device, which an instance has from its creation or not at all."""
    rows = ports_unused(owner).filter(vnic_type=VnicType.NORMAL.value).order_by("name", "pk")
    return [(str(one.pk), port_label(one)) for one in rows[: MAX_CHOICES + 1]]


def _cards(_owner: Caller, instance: Any) -> Choices:
    cards = instance_interfaces([instance]).get(instance.pk, ())
    return [
        (str(one.port_id), ", ".join(filter(None, (one.network, *(each.address for each in one.addresses), one.mac))))
        for one in cards
    ]


OFFERS: Mapping[str, Mapping[str, Callable[[Caller, Any], Choices]]] = {
    ATTACH_VOLUME.name: {"volume": _volumes_to_attach},
    DETACH_VOLUME.name: {"volume": _volumes_attached},
    ATTACH_INTERFACE.name: {"network": _networks, "port": _ports},
    DETACH_INTERFACE.name: {"port": _cards},
}
