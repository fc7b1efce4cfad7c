"""Making an image of an instance with properties that its maker gives it, besides those that it inherits."""

import uuid
from collections.abc import Mapping

from django.db import transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from servers.images.services.image import image_update
from servers.instances.services.act import instance_act
from servers.models import Image, Instance


@audited("instance.{action}", Instance, by="instance_id")
def instance_image_make(
    *, caller: Caller, instance_id: uuid.UUID, action: str, arguments: Mapping[str, str], properties: Mapping[str, str]
) -> Instance:
    """Begin a snapshot or a backup. Raises as `instance_act`, and InvalidFields for a property that no image takes."""
    with transaction.atomic():
        changed = instance_act(caller=caller, instance_id=instance_id, action=action, arguments=arguments)
        made_id = changed.made_image_id
        made = Image.objects.filter(pk=made_id).first() if properties and made_id is not None else None
        if made is not None:
            changes = {"properties": {**made.properties, **properties}}
            image_update(caller=caller, image_id=made.pk, changes=changes)
    return changed
