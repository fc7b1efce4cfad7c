"""Rebuild and rescue: what the request names is looked up and judged, then the work of the instance's host is written.

How both end is told by `servers.instances.services.act`, as of every action of a host.
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.kernel.texts import phrase as _
from controlplane.work.work import WorkLease
from placement.selectors.providers import provider_traits_by_uuid
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destination_check
from scheduling.domain.request.image_property_names import present_names, present_words
from scheduling.domain.request.schedule_request import CHECK_TYPE_HINT, ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.errors import NoValidHost
from servers.fields import Problems, problems_found, refuse_if
from servers.images.domain.images import ImageStatus
from servers.images.selectors import SCHEDULED, image_for_instance, image_snapshot
from servers.images.services.certificates import trusted_signature_require
from servers.instances.actions.rescue import REBUILD, RESCUE
from servers.instances.actions.rule import ActionRule
from servers.instances.domain.guest_config_rules import METADATA_BRINGS, address_spelled, disk_config_decided
from servers.instances.domain.instance_rules import image_fit_problems
from servers.instances.domain.rebuild_rules import (
    InstanceRebuild,
    placement_reasons,
    rebuild_problems,
)
from servers.instances.domain.rescue_rules import rescue_bus_reasons, rescue_password_reasons, rescue_reasons
from servers.instances.selectors.instances import instance_get
from servers.instances.selectors.scheduling_facts import fleet_facts
from servers.instances.services.config_parts import NOT_OF_VOLUMES, injected_files_check, metadata_check
from servers.instances.services.first_boot import first_boot_replace
from servers.instances.services.host_action import host_action_begin
from servers.instances.services.metadata_changes import guest_documents_changed
from servers.instances.services.request_parts import image_problems, keypair_named, machines_at, problems_together
from servers.instances.services.state import action_require
from servers.models import Image, Instance, KeyPair, Port, RequestSpec
from servers.networks.domain.names import VnicType
from servers.networks.selectors.subnets import metadata_is_answered
from servers.volumes.services.with_instances import HALF_MADE, boot_volume_reimage, boot_volume_reimaged

Snapshot = Mapping[str, Any]
TRUSTED_CERTS = "instances:rebuild:trusted_certs"
DRIVE_TELLS = ("user_data", "key_name", "admin_pass", "personality")
CHANGED = _("The instance changed at this very moment. Look again.")


@audited("instance.rebuild", Instance, by="instance_id", is_apart=True)
def instance_rebuild(*, caller: Caller, instance_id: uuid.UUID, wanted: InstanceRebuild) -> Instance:
    """Begin to replace the instance's disks by new ones, on its host and with all that it claims there.

    Nothing is written unless all is right. Another image is judged by the filters that Nova asks again, for this one
    host, in a decision of its own. Raises InvalidFields, Forbidden, NotFound; Conflict for a wrong state, an image that
    is gone, and a host that is not for this image, with the decision in `decision_id`.
    """
    require(caller, REBUILD.policy)
    instance = instance_get(caller=caller, instance_id=instance_id)
    keypair, no_keypair = keypair_named(caller, wanted.key_name or "")
    refuse_if(problems_together(rebuild_problems(wanted), no_keypair, _drive_problems(instance, wanted)))
    injected_files_check(caller, wanted.personality)
    metadata_check(caller, wanted.metadata or {})
    action_require(instance, REBUILD.name, caller)
    _boot_volume_check(instance, wanted)
    image = image_for_instance(caller=caller, reference=wanted.image) if wanted.image else _own_image(instance)
    trusted = _trusted(caller, instance, wanted, image)
    new = image_snapshot(image)
    if new != instance.image:
        _judge(instance, image, new)
    changes: dict[str, Any] = {"image": new} if instance.is_bfv else {"image": new, "image_id": image.pk}
    changes |= {"trusted_image_certificates": list(trusted), "disk_config": _disk_config(instance, wanted, image)}
    changes |= _changed_columns(wanted, keypair)
    with transaction.atomic():
        row = _locked(instance, caller, REBUILD.name)
        if row.is_bfv:
            boot_volume_reimage(instance_uuid=row.pk, image=image)
        _begin(row, REBUILD, caller, changes)
        _spec_image(row, new)
        first_boot_replace(instance_id=row.pk, admin_pass=wanted.admin_pass, personality=wanted.personality)
        row.refresh_from_db()
        guest_documents_changed(row)
    return row


def rebuild_done(lease: WorkLease) -> None:
    """Its disks are new, a root volume among them."""
    boot_volume_reimaged(instance_uuid=lease.subject)


def rebuild_failed(instance: Instance, _is_overdue: bool) -> None:
    """A root volume that was to be made anew is not what it was, and may be nothing."""
    boot_volume_reimaged(instance_uuid=instance.pk, fault=HALF_MADE)


@audited("instance.rescue", Instance, by="instance_id")
def instance_rescue(*, caller: Caller, instance_id: uuid.UUID, image: str = "", admin_pass: str = "") -> Instance:
    """Begin to boot the instance from a rescue disk made of this image (id or name), its own one where none is named.

    The rescue system finds `admin_pass` on a config drive of its own, so it is for an instance that has one. Raises
    InvalidFields, Invalid, Forbidden, NotFound, and Conflict for a wrong state or an own image that is gone.
    """
    require(caller, RESCUE.policy)
    instance = instance_get(caller=caller, instance_id=instance_id)
    refuse_if({"admin_pass": rescue_password_reasons(admin_pass, has_drive=instance.config_drive)})
    action_require(instance, RESCUE.name, caller)
    chosen = image_for_instance(caller=caller, reference=image) if image else _own_image(instance)
    own, other = present_words(instance.image.get("properties", {})), present_words(chosen.properties)
    reasons = rescue_reasons(own, other)
    trusted_signature_require(chosen, instance.trusted_image_certificates, project_id=instance.project_id)
    snapshot = image_snapshot(chosen)
    if not snapshot.get("kernel"):
        specs = FlavorSnapshot(**instance.flavor).extra_specs
        reasons += rescue_bus_reasons(specs, own, other, machines_at(instance.host))
    elif chosen.pk != instance.image_id:  # its own one takes the first place, whatever bus the image names
        reasons.append(_("It boots by a kernel of its own, and a rescue disk has to boot by itself."))
    # The rescue disk is as large as its image, whatever the flavor's root disk is.
    too_small = image_fit_problems(
        min_ram_mib=chosen.min_ram_mib,
        min_disk_gib=0,
        size_bytes=0,
        virtual_size_bytes=0,
        flavor_memory_mib=instance.memory_mib,
        flavor_root_gib=0,
    )
    refuse_if(problems_found({"image": [*reasons, *_of_instance(too_small)]}))
    with transaction.atomic():
        row = _locked(instance, caller, RESCUE.name)
        _begin(row, RESCUE, caller, {"rescue_image": snapshot})
        first_boot_replace(instance_id=row.pk, admin_pass=admin_pass, personality=())
    row.refresh_from_db()
    return row


def _trusted(caller: Caller, instance: Instance, wanted: InstanceRebuild, image: Image) -> tuple[str, ...]:
    """The certificates by which the image had to be signed, and was. Raises Invalid, Forbidden."""
    asked = wanted.trusted_image_certificates
    if asked:
        require(caller, TRUSTED_CERTS)
    if asked and instance.is_bfv:
        raise Invalid(NOT_OF_VOLUMES, field="trusted_image_certificates")
    by = instance.trusted_image_certificates if asked is None else asked
    return trusted_signature_require(image, by, project_id=instance.project_id)


def _disk_config(instance: Instance, wanted: InstanceRebuild, image: Image) -> str:
    """Who sizes the root partition from now on. Raises InvalidFields."""
    says = str(present_names(image.properties).get("hw_auto_disk_config", ""))
    decided, against = disk_config_decided(wanted.disk_config, says)
    refuse_if({"disk_config": against})
    return decided or instance.disk_config


def _changed_columns(wanted: InstanceRebuild, keypair: KeyPair | None) -> dict[str, Any]:
    """Columns that get another value, as far as the request names them."""
    named = ("name", "description", "metadata", "hostname", "access_ip_v4", "access_ip_v6")
    changes = {name: value for name in named if (value := getattr(wanted, name)) is not None}
    if wanted.access_ip_v6 is not None:
        changes["access_ip_v6"] = address_spelled(wanted.access_ip_v6)
    if wanted.user_data is not None:
        changes["user_data"] = "".join(wanted.user_data.split())
    if wanted.key_name is not None:
        changes["key_name"] = keypair.name if keypair else ""
        changes["public_key"] = keypair.public_key if keypair else ""
    return changes


def _boot_volume_check(instance: Instance, wanted: InstanceRebuild) -> None:
    """Raises Conflict for an instance whose root volume would be left as it is, and Invalid for one without any."""
    if instance.is_bfv and not (wanted.reimage_boot_volume and wanted.image):
        said = _("name an image") if wanted.reimage_boot_volume else _("say reimage_boot_volume, and all on it is lost")
        raise Conflict(_("The instance boots from a volume. To have that made anew, {said}.", said=said), field="image")
    if wanted.reimage_boot_volume and not instance.is_bfv:
        raise Invalid(_("The instance boots from no volume."), field="reimage_boot_volume")


def _drive_problems(instance: Instance, wanted: InstanceRebuild) -> Problems:
    """What only a config drive tells the guest is refused for an instance that was made without one."""
    if instance.config_drive:
        return {}
    ports = Port.objects.filter(instance_uuid=instance.pk, vnic_type=VnicType.NORMAL).values_list("pk", flat=True)
    brought = METADATA_BRINGS if metadata_is_answered(ports=list(ports)) else frozenset()
    given = {name: getattr(wanted, name) for name in DRIVE_TELLS if name not in brought}
    return {name: [_("The instance has no config drive to tell it.")] for name, value in given.items() if value}


def _own_image(instance: Instance) -> Image:
    """The image that it has. Raises Conflict where nothing can be made of it any more."""
    image = Image.objects.filter(pk=instance.image_id).first() if instance.image_id else None
    if instance.is_bfv:
        raise Conflict(_("The instance boots from a volume and has no image of its own; name one."), field="image")
    if image is None or image.status != ImageStatus.ACTIVE:
        state = "gone" if image is None else image.status
        name = instance.image.get("name", "")
        raise Conflict(
            _("Its own image {name!r:.80} is {state}; name another one.", name=name, state=state), field="image"
        )
    return image


def _judge(instance: Instance, image: Image, new: Snapshot) -> None:
    """Whether the instance can have this image where it is. Raises InvalidFields, Conflict."""
    flavor = FlavorSnapshot(**instance.flavor)
    old_asked, new_asked = _asked(instance.image), _asked(new)
    traits = sorted(_traits(new_asked) - provider_traits_by_uuid([_node(instance)]).get(_node(instance), frozenset()))
    reasons = [
        _("It requires the trait {trait}, which the instance's host does not have.", trait=trait) for trait in traits
    ]
    reasons += _of_instance(image_problems(flavor, image, has_local_root=not instance.is_bfv))
    refuse_if(problems_found({"image": [*reasons, *placement_reasons(flavor, old_asked, new_asked)]}))
    request = ScheduleRequest(
        request_id=current_request_id(),
        project_id=str(instance.project_id),
        user_id=str(instance.user_id),
        instance_uuids=(str(instance.pk),),
        flavor=flavor,
        image=new_asked,
        force_hosts=(instance.host,),
        force_nodes=(instance.node,) if instance.node else (),
        hints={CHECK_TYPE_HINT: ("rebuild",)},
    )
    inputs = scheduling_inputs()
    try:
        destination_check(request=request, inputs=replace(inputs, facts=fleet_facts(None, inputs)))
    except NoValidHost as error:
        raise Conflict(
            _("The host of the instance is not for this image: {message}", message=error.message),
            decision_id=str(error.decision_id),
        ) from error


def _node(instance: Instance) -> uuid.UUID:
    return instance.compute_node_uuid or uuid.UUID(int=0)


def _traits(image: ImageSnapshot) -> frozenset[str]:
    pairs = image.properties.items()
    return frozenset(
        key.removeprefix("trait:") for key, value in pairs if key.startswith("trait:") and value == "required"
    )


def _asked(snapshot: Snapshot) -> ImageSnapshot:
    return ImageSnapshot(**{name: value for name, value in snapshot.items() if name in SCHEDULED})


def _of_instance(problems: Mapping[str, list[str]]) -> list[str]:
    """The flavor is the instance's own, and what is too small of it is a reason against the image."""
    of_flavor = [f"The instance's flavor: {reason}" for reason in problems.get("flavor", [])]
    return [*of_flavor, *problems.get("image", [])]


def _locked(seen: Instance, caller: Caller, action: str) -> Instance:
    """Its row under lock, still as it was judged. Raises Conflict."""
    row = Instance.objects.select_for_update().filter(pk=seen.pk, deleted_at__isnull=True).first()
    if row is None or (row.image, row.host) != (seen.image, seen.host):
        raise Conflict(CHANGED)
    action_require(row, action, caller)
    return row


def _begin(row: Instance, rule: ActionRule, caller: Caller, changes: Mapping[str, Any]) -> None:
    vm_in, task_in = rule.vm_states, rule.task_states
    host_action_begin(row, rule, user_id=caller.user_id, vm_in=vm_in, task_in=task_in, changes=changes)


def _spec_image(row: Instance, new: Snapshot) -> None:
    """What was asked for is that image from now on: by it the instance is placed anew, should it ever move."""
    spec = RequestSpec.objects.filter(instance_uuid=row.pk).first()
    if spec is not None:
        image = {name: value for name, value in new.items() if name in SCHEDULED}
        RequestSpec.objects.filter(pk=spec.pk).update(body={**spec.body, "image": image}, updated_at=Now())
