"""Create: everything is checked, then quota and rows are written in one transaction; the conductor does the rest."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.audit_log.recording.record import AuditChange, AuditTarget, changes_record
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import InvalidFields
from controlplane.work.work import CONDUCTOR_QUEUE, NewWork, work_create
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.pci.asked import PciRequest
from servers.catalog.selectors.flavor import flavor_snapshot
from servers.catalog.services.quota import quota_count_allowed, quota_lock
from servers.catalog.services.server_group import server_group_members_add
from servers.conf import server_options
from servers.images.selectors import image_asked
from servers.instances.domain.bodies import InstanceBody, SpecBody
from servers.instances.domain.guest_config_rules import address_spelled
from servers.instances.domain.instance_create import InstanceCreate, words_problems
from servers.instances.domain.instance_rules import (
    BEST_EFFORT,
    ZoneRequest,
    hostname_in_batch,
    instance_names,
    zone_parse,
)
from servers.instances.selectors.pending import pending_instance
from servers.instances.services.block_devices import DisksDecided, disks_found
from servers.instances.services.config_parts import (
    ConfigDecided,
    config_decided,
    destination_problems,
    injected_files_check,
    metadata_check,
    trusted_certificates,
)
from servers.instances.services.first_boot import first_boot_store
from servers.instances.services.hints import requests_changed
from servers.instances.services.legacy_group import legacy_group_store
from servers.instances.services.nic_needs import port_resources_recheck, with_nic_needs
from servers.instances.services.nics import (
    NicsDecided,
    needs_own_network,
    nics_found,
    own_network_make,
    port_count_allowed,
)
from servers.instances.services.request_parts import (
    bus_problems,
    devices_requested,
    fit_problems,
    flavor_named,
    group_hinted,
    hints_read,
    image_named,
    keypair_named,
    problems_together,
    zero_disk_check,
    zone_problems,
)
from servers.instances.services.request_volumes import request_volumes_reserve, volumes_of_request_require
from servers.instances.work_kinds import SCHEDULE_AND_BUILD
from servers.models import BuildRequest, Flavor, Image, Instance, InstanceMapping, KeyPair, RequestSpec, ServerGroup
from servers.networks.services.groups import default_group_ensure
from servers.networks.services.instance_ports import instance_ports_claim

CREATED = "instance.create"


@dataclass(frozen=True, slots=True)
class _Parts:
    """The things that the request names, as they were found."""

    flavor: Flavor
    image: Image
    zone: ZoneRequest
    keypair: KeyPair | None
    group: ServerGroup | None
    hints: Mapping[str, tuple[str, ...]]
    pci_requests: tuple[PciRequest, ...]
    config: ConfigDecided
    trusted: tuple[str, ...]
    nics: NicsDecided
    disks: DisksDecided


@audited(CREATED, by_itself=True)
def instances_create(*, caller: Caller, wanted: InstanceCreate) -> list[Instance]:
    """Accept a batch: between min_count and max_count instances, as quota allows, in state BUILD.

    Nothing is written unless all is right. Raises InvalidFields, Forbidden or QuotaExceeded.
    """
    require(caller, "instances:create")
    if not needs_own_network(caller, wanted.networks):
        return _created(caller, wanted)
    with transaction.atomic():
        # Refused later, the request leaves no network behind.
        own_network_make(caller)
        return _created(caller, wanted)


def _created(caller: Caller, wanted: InstanceCreate) -> list[Instance]:
    parts = _found(caller, wanted)
    with transaction.atomic():
        quota_lock(caller.project_id)
        count = quota_count_allowed(
            project_id=caller.project_id,
            user_id=caller.user_id,
            min_count=wanted.min_count,
            max_count=wanted.count_max,
            vcpus=parts.flavor.vcpus,
            memory_mib=parts.flavor.memory_mib,
        )
        count = port_count_allowed(
            project_id=caller.project_id, each=parts.nics.new_ports, min_count=wanted.min_count, max_count=count
        )
        volumes_of_request_require(caller, parts.disks, count)
        if parts.group is not None:
            parts = replace(parts, group=legacy_group_store(caller=caller, group=parts.group))
        if parts.nics.names_default_group:
            default = default_group_ensure(project_id=caller.project_id).pk
            parts = replace(parts, nics=replace(parts.nics, group_ids=(*(parts.nics.group_ids or ()), default)))
        requests = _rows_write(caller, wanted, parts, count)
        deadline_s = server_options().build_deadline_s
        work_create(NewWork(CONDUCTOR_QUEUE, SCHEDULE_AND_BUILD, requests[0].reservation_id, deadline_s))
        instances = [pending_instance(request) for request in requests]
        changes_record([_change(one, parts) for one in instances], of=CREATED)
    return instances


def _change(instance: Instance, parts: _Parts) -> AuditChange:
    """What the audit log says of one that was asked for."""
    after = {"name": instance.name, "flavor": parts.flavor.name, "image": parts.image.name}
    target = AuditTarget("instance", str(instance.pk), instance.name, instance.project_id)
    return AuditChange(CREATED, target, after=after)


def instances_create_check(*, caller: Caller, wanted: InstanceCreate) -> None:
    """Raise what `instances_create` would raise now: the same checks, with nothing written and nothing held.

    Quota is checked last, so that QuotaExceeded means that all else is right. A network that the request would get made
    is made and undone.
    """
    require(caller, "instances:create")
    with transaction.atomic():
        if makes_network := needs_own_network(caller, wanted.networks):
            own_network_make(caller)
        parts = _found(caller, wanted)
        transaction.set_rollback(makes_network)
    quota_count_allowed(
        project_id=caller.project_id,
        user_id=caller.user_id,
        min_count=wanted.min_count,
        max_count=wanted.count_max,
        vcpus=parts.flavor.vcpus,
        memory_mib=parts.flavor.memory_mib,
    )
    port_count_allowed(
        project_id=caller.project_id, each=parts.nics.new_ports, min_count=wanted.min_count, max_count=wanted.count_max
    )
    with transaction.atomic():
        volumes_of_request_require(caller, parts.disks, wanted.count_max)


def _found(caller: Caller, wanted: InstanceCreate) -> _Parts:
    """What the request names. Raises InvalidFields with everything that is wrong, by field, and Forbidden."""
    zone, _ = zone_parse(wanted.availability_zone)  # a text of another form is a problem among those of the words
    flavor, no_flavor = flavor_named(caller, wanted.flavor)
    image, no_image = image_named(caller, wanted.image) if wanted.image else (None, {})
    disks, unfit_disks = disks_found(
        caller,
        wanted.block_device_mapping_v2,
        flavor=flavor,
        image=image,
        has_image=bool(wanted.image),
        zone=zone.zone,
        count=wanted.count_max,
    )
    zone, image = replace(zone, zone=zone.zone or disks.zone), disks.image
    keypair, no_keypair = keypair_named(caller, wanted.key_name)
    group, no_group = group_hinted(caller, wanted.hints)
    hints, unfit_hints = hints_read(caller, wanted.hints)
    nics = nics_found(caller, networks=wanted.networks, security_groups=wanted.security_groups, count=wanted.count_max)
    config, unfit_config = config_decided(
        config_drive=wanted.config_drive,
        disk_config=wanted.disk_config,
        needs={name: getattr(wanted, name) for name in ("user_data", "key_name", "admin_pass", "personality")},
        image=image,
        nics=nics.decided,
    )
    problems = problems_together(
        words_problems(wanted),
        *(no_flavor, no_image, unfit_disks, no_keypair, no_group, unfit_hints, unfit_config),
        zone_problems(caller, zone),
        destination_problems(caller, zone, host=wanted.host, hypervisor_hostname=wanted.hypervisor_hostname),
        nics.problems,
    )
    if flavor and not disks.is_bfv and not unfit_disks:
        zero_disk_check(caller, flavor)
    if flavor is None or image is None:
        raise InvalidFields(problems)
    asked, properties = FlavorSnapshot(**flavor_snapshot(flavor)), ImageSnapshot(properties=image.properties)
    devices, no_devices = devices_requested(asked, properties)
    no_bus = bus_problems(asked, properties, {one.disk_bus for one in disks.devices or ()})
    unfit = fit_problems(flavor, image, has_local_root=not disks.is_bfv, is_image_named=bool(wanted.image))
    problems = problems_together(problems, unfit, no_bus, no_devices)
    if problems:
        raise InvalidFields(problems)
    if nics.refusals:
        raise nics.refusals[0]
    injected_files_check(caller, wanted.personality)
    metadata_check(caller, wanted.metadata)
    trusted = trusted_certificates(caller, image, wanted.trusted_image_certificates, is_bfv=disks.is_bfv)
    return _Parts(flavor, image, zone, keypair, group, hints, devices, config, trusted, nics.decided, disks)


def _rows_write(caller: Caller, wanted: InstanceCreate, parts: _Parts, count: int) -> list[BuildRequest]:
    reservation = uuid.uuid4()
    spec_body = _spec_body(wanted, parts).to_dict()
    names = instance_names(wanted.name, count)
    requests = [
        _build_request(caller, wanted, parts, reservation=reservation, index=index, names=names)
        for index in range(count)
    ]
    BuildRequest.objects.bulk_create(requests)
    first_boot_store(
        instance_ids=[one.instance_uuid for one in requests],
        admin_pass=wanted.admin_pass,
        personality=wanted.personality,
    )
    requests_changed(requests)
    RequestSpec.objects.bulk_create(
        RequestSpec(
            instance_uuid=one.instance_uuid,
            reservation_id=reservation,
            project_id=caller.project_id,
            user_id=caller.user_id,
            body=spec_body,
        )
        for one in requests
    )
    InstanceMapping.objects.bulk_create(
        InstanceMapping(instance_uuid=one.instance_uuid, project_id=caller.project_id) for one in requests
    )
    for one in requests:
        instance_ports_claim(instance_uuid=one.instance_uuid, project_id=caller.project_id, nics=parts.nics.nics)
        request_volumes_reserve(
            instance_uuid=one.instance_uuid, project_id=caller.project_id, devices=parts.disks.devices or ()
        )
    port_resources_recheck(parts.nics)
    if parts.group is not None:
        server_group_members_add(
            group_id=parts.group.pk,
            instance_uuids=[one.instance_uuid for one in requests],
            project_id=caller.project_id,
            user_id=caller.user_id,
        )
    return requests


def _build_request(
    caller: Caller,
    wanted: InstanceCreate,
    parts: _Parts,
    *,
    reservation: uuid.UUID,
    index: int,
    names: Sequence[str],
) -> BuildRequest:
    instance_id, count = uuid.uuid4(), len(names)
    return BuildRequest(
        instance_uuid=instance_id,
        project_id=caller.project_id,
        user_id=caller.user_id,
        reservation_id=reservation,
        batch_index=index,
        request_id=current_request_id(),
        vcpus=parts.flavor.vcpus,
        memory_mib=parts.flavor.memory_mib,
        ports=parts.nics.new_ports,
        instance_body=InstanceBody(
            id=instance_id,
            project_id=caller.project_id,
            user_id=caller.user_id,
            reservation_id=reservation,
            name=names[index],
            flavor=flavor_snapshot(parts.flavor),
            flavor_id=parts.flavor.pk,
            vcpus=parts.flavor.vcpus,
            memory_mib=parts.flavor.memory_mib,
            image=parts.disks.image_snapshot,
            image_id=parts.disks.image_id,
            root_gib=0 if parts.disks.is_bfv else parts.flavor.root_gib,
            ephemeral_gib=parts.flavor.ephemeral_gib,
            swap_mib=parts.flavor.swap_mib,
            description=wanted.description,
            hostname=wanted.hostname or hostname_in_batch(wanted.name, str(instance_id), index, count),
            access_ip_v4=wanted.access_ip_v4,
            access_ip_v6=address_spelled(wanted.access_ip_v6),
            config_drive=parts.config.config_drive,
            has_default_network=parts.nics.has_default_network,
            disk_config=parts.config.disk_config,
            trusted_image_certificates=parts.trusted,
            availability_zone=parts.zone.zone,
            key_name=parts.keypair.name if parts.keypair else "",
            public_key=parts.keypair.public_key if parts.keypair else "",
            user_data="".join(wanted.user_data.split()),  # `base64` wraps its lines
            metadata=dict(wanted.metadata),
            tags=tuple(sorted(set(wanted.tags))),
            request_id=current_request_id(),
            launch_index=index,
            protected=wanted.protected,
        ).to_dict(),
    )


def _spec_body(wanted: InstanceCreate, parts: _Parts) -> SpecBody:
    asked = SpecBody(
        flavor=FlavorSnapshot(**flavor_snapshot(parts.flavor)),
        image=image_asked(parts.image),
        pci_requests=parts.pci_requests,
        availability_zone=parts.zone.zone,
        force_host=parts.zone.host,
        force_node=parts.zone.node,
        requested_host=wanted.host,
        requested_node=wanted.hypervisor_hostname,
        hints=parts.hints,
        group_id=parts.group.pk if parts.group else None,
        min_count=wanted.min_count if wanted.batch == BEST_EFFORT else None,
        nics=parts.nics.nics,
        security_groups=parts.nics.group_ids,
        block_devices=parts.disks.devices,
    )
    return with_nic_needs(asked, parts.nics)
