"""Networks are made, changed and removed here."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict, Forbidden, InvalidFields
from controlplane.kernel.texts import phrase as _
from servers.conf import ovn_options, server_options
from servers.fields import Problems, problems_found, refuse_if, text_reasons
from servers.models import FloatingIP, Network, Port, Router, Subnet
from servers.networks.domain.errors import (
    ExternalNetworkInUse,
    InvalidSharedSetting,
    NetworkInUse,
    NetworkKindUnavailable,
    NetworkNotFound,
    NoNetworkAvailable,
    TenantNetworksUnavailable,
)
from servers.networks.domain.networks import (
    NetworkRequest,
    default_reasons,
    mtu_limit,
    mtu_reasons,
    network_name_reasons,
    network_problems,
)
from servers.networks.selectors.networks import networks_visible, owns_network
from servers.networks.services.changes import networks_changed
from servers.networks.services.port_locks import ports_lock
from servers.networks.services.quota import network_quota_check
from servers.networks.services.segments import segment_free

CHANGEABLE = (
    "name",
    "description",
    "mtu",
    "is_shared",
    "is_external",
    "is_default",
    "has_port_security",
    "is_enabled",
)
OF_ADMINS = ("is_shared", "is_external", "is_default")
SEGMENT_TRIES = 8


@audited("network.create", Network)
def network_create(*, caller: Caller | None, request: NetworkRequest) -> Network:
    """A new network without subnets; as default it takes the place of the one before.

    What projects make is of the kind of the setting NETWORK_KIND. The rest of what a network can be is for
    administrators, for whom no caller stands, too.
    Raises InvalidFields, Forbidden, QuotaExceeded, Conflict, TenantNetworksUnavailable,
    NetworkKindUnavailable, NoNetworkAvailable.
    """
    if (
        caller is not None
        and not caller.is_admin
        and not (request.is_usual and request.project_id == caller.own_project_id)
    ):
        raise Forbidden(
            _("Only administrators choose kind, sharing and the outside of a network, or make one for others.")
        )
    kind = _kind_of(request)
    if kind is NetworkBackendKind.OVN and not ovn_options().ovn_northbound:
        raise NetworkKindUnavailable(
            _("This installation has no OVN that would carry it: an administrator sets OVN_NORTHBOUND."), field="kind"
        )
    options = server_options()
    refuse_if(network_problems(request, kind=kind, underlay_mtu=options.network_underlay_mtu))
    limit = mtu_limit(kind=kind, is_physical=bool(request.physical_network), underlay_mtu=options.network_underlay_mtu)
    row = Network(
        id=request.id,
        project_id=request.project_id,
        name=request.name,
        description=request.description,
        kind=kind.value,
        hypervisor_network=request.hypervisor_network,
        physical_network=request.physical_network,
        mtu=request.mtu or limit,
        is_shared=request.is_shared,
        is_external=request.is_external,
        is_default=request.is_default,
        has_port_security=request.has_port_security,
        is_enabled=request.is_enabled,
    )
    return in_transaction(lambda: _network_insert(row))


def _kind_of(request: NetworkRequest) -> NetworkBackendKind:
    if request.kind is not None:
        return request.kind
    if request.hypervisor_network:
        return NetworkBackendKind.HYPERVISOR
    configured = server_options().network_kind
    if configured == "none":
        raise TenantNetworksUnavailable(
            _("This installation carries no networks of projects: an administrator sets NETWORK_KIND to bridge or ovn.")
        )
    return NetworkBackendKind(configured)


def _network_insert(row: Network) -> Network:
    network_quota_check(project_id=row.project_id, wanted={"networks": 1})
    if row.is_default:
        Network.objects.filter(is_default=True).update(is_default=False, updated_at=Now())
    has_segment = row.kind == NetworkBackendKind.BRIDGE and not row.physical_network
    for _rest in range(SEGMENT_TRIES):
        row.segment = segment_free() if has_segment else None
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError as error:
            _name_must_be_free(row, error)
            if has_segment and not Network.objects.filter(pk=row.pk).exists():
                continue  # somebody took the segment between the look and the write
            raise Conflict(_("Network {pk} exists already.", pk=row.pk), field="id") from error
        networks_changed(networks=[row.pk])
        return row
    raise NoNetworkAvailable(_("No free VXLAN id was found in {segment_tries} tries.", segment_tries=SEGMENT_TRIES))


def _name_must_be_free(row: Network, error: IntegrityError) -> None:
    others = Network.objects.filter(project=None, name=row.name).exclude(pk=row.pk)
    if row.project_id is None and others.exists():
        raise Conflict(
            _("A network of the installation is named {name} already.", name=row.name), field="name"
        ) from error


def network_held(*, caller: Caller | None, network_id: uuid.UUID, for_deletion: bool = False) -> Network:
    """The network, its row locked until the transaction ends: who changes what is in a network waits for who else does.

    Raises NetworkNotFound, and Forbidden for one that the caller sees but does not own.
    """
    rows = networks_visible(caller).select_for_update(of=("self",), no_key=not for_deletion)
    row = rows.filter(pk=network_id).first()
    if row is None:
        raise NetworkNotFound(_("Network {network_id} does not exist.", network_id=network_id), field="network")
    if not owns_network(caller, row):
        raise Forbidden(_("Network {row} belongs to another project; only that and administrators change it.", row=row))
    return row


@audited("network.update", Network, by="network_id")
def network_update(*, caller: Caller | None, network_id: uuid.UUID, changes: Mapping[str, Any]) -> Network:
    """Change some of CHANGEABLE; what is left out stays. Of OF_ADMINS only administrators.

    Ports keep their addresses and the port security that they have. A changed MTU reaches guests with their next lease.
    Raises NetworkNotFound, Forbidden, InvalidFields, Conflict, InvalidSharedSetting, ExternalNetworkInUse.
    """
    if unknown := {name: [_("Cannot be changed.")] for name in changes if name not in CHANGEABLE}:
        raise InvalidFields(unknown)
    of_admins = [name for name in OF_ADMINS if name in changes]
    if of_admins and caller is not None and not caller.is_admin:
        raise Forbidden(
            _("Only administrators change {of_admins} of a network.", of_admins=", ".join(of_admins)),
            field=of_admins[0],
        )
    return in_transaction(lambda: _network_update(caller, network_id, changes))


def _network_update(caller: Caller | None, network_id: uuid.UUID, changes: Mapping[str, Any]) -> Network:
    row = network_held(caller=caller, network_id=network_id)
    before = {name: getattr(row, name) for name in CHANGEABLE}
    for name, value in changes.items():
        setattr(row, name, value)
    refuse_if(_problems_of_row(row))
    _uses_must_allow(row, before)
    if row.is_default and not before["is_default"]:
        Network.objects.filter(is_default=True).exclude(pk=row.pk).update(is_default=False, updated_at=Now())
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        _name_must_be_free(row, error)
        raise
    if row.name != before["name"]:
        Port.objects.filter(pk__in=ports_lock(Port.objects.filter(network=row))).update(network_name=row.name)
    networks_changed(networks=[row.pk])
    return row


def _problems_of_row(row: Network) -> Problems:
    kind = NetworkBackendKind(row.kind)
    limit = mtu_limit(
        kind=kind,
        is_physical=bool(row.physical_network),
        underlay_mtu=server_options().network_underlay_mtu,
    )
    has_ipv6 = Subnet.objects.filter(network=row, ip_version=6).exists()
    outside = [] if row.physical_network else [_("An external network needs the name of what it is outside.")]
    return problems_found(
        {
            "name": network_name_reasons(row.name, is_of_installation=row.project_id is None),
            "description": text_reasons(row.description, maximum=255),
            "mtu": mtu_reasons(row.mtu, limit=limit, has_ipv6=has_ipv6),
            "is_external": outside if row.is_external else [],
            "is_default": default_reasons(kind=kind, is_shared=row.is_shared, is_default=row.is_default),
        }
    )


def _uses_must_allow(row: Network, before: Mapping[str, Any]) -> None:
    """What others have in the network by leave of how it was must not be there any more."""
    if before["is_shared"] and not row.is_shared:
        others = Port.objects.filter(network=row).exclude(Q(project=None) | Q(project=row.project_id)).count()
        if others:
            raise InvalidSharedSetting(
                _("Other projects have {others} ports in network {row}: it stays shared.", others=others, row=row),
                field="is_shared",
            )
    if before["is_external"] and not row.is_external:
        gateways = Router.objects.filter(external_network=row).count()
        floating = FloatingIP.objects.filter(network=row).count()
        if gateways or floating:
            raise ExternalNetworkInUse(
                _(
                    "{gateways} routers have their gateways in network {row}, and {floating} floating addresses too.",
                    gateways=gateways,
                    row=row,
                    floating=floating,
                ),
                field="is_external",
            )


@audited("network.delete", Network, by="network_id")
def network_delete(*, caller: Caller | None, network_id: uuid.UUID) -> None:
    """Delete a network with its subnets. Raises NetworkNotFound, Forbidden, and NetworkInUse while ports are in it."""
    in_transaction(lambda: _network_delete(caller, network_id))


def _network_delete(caller: Caller | None, network_id: uuid.UUID) -> None:
    row = network_held(caller=caller, network_id=network_id, for_deletion=True)
    in_it = {
        "ports": Port.objects.filter(network=row).count(),
        "gateways of routers": Router.objects.filter(external_network=row).count(),
        "floating addresses": FloatingIP.objects.filter(network=row).count(),
    }
    if any(in_it.values()):
        found = ", ".join(f"{count} {what}" for what, count in in_it.items() if count)
        raise NetworkInUse(_("Network {row} is in use: {found} are in it.", row=row, found=found), in_use=in_it)
    networks_changed(networks=[row.pk])
    Subnet.objects.filter(network=row).delete()
    row.delete()
