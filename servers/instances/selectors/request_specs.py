"""What was asked of the scheduler for an instance."""

import uuid
from collections.abc import Collection

from django.db.models.fields.json import KeyTextTransform

from servers.instances.domain.bodies import SpecBody
from servers.models import RequestSpec


def request_asked(*, instance_id: uuid.UUID) -> SpecBody | None:
    """The request as it is kept; None where it is kept no more. For callers that may see the instance. One query."""
    spec = RequestSpec.objects.filter(instance_uuid=instance_id).first()
    return None if spec is None else spec.typed_body


def zones_asked(instance_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The availability zones that these were asked for in, empty where none was named; those whose request is kept no
    more are left out. One query, that reads no whole requests.
    """
    zone = KeyTextTransform("availability_zone", "body")
    rows = RequestSpec.objects.filter(instance_uuid__among=instance_ids).values_list("instance_uuid", zone)
    return {instance_id: zone or "" for instance_id, zone in rows}


def requests_asked(instance_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, SpecBody]:
    """The same of many, by instance; those whose request is kept no more are left out. One query."""
    rows = RequestSpec.objects.filter(instance_uuid__among=instance_ids).values_list("instance_uuid", "body")
    return {instance_id: SpecBody.from_dict(body) for instance_id, body in rows}
