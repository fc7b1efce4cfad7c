"""Images in bulk jobs."""

import uuid
from collections.abc import Mapping, Sequence

from django.http import QueryDict

from controlplane.identity.domain import Caller
from servers.bulk.things.thing import BulkThing, matching_rows
from servers.filtersets import ImageFilterSet
from servers.images.selectors import images_visible
from servers.images.services.image import image_deactivate, image_reactivate
from servers.images.services.image_store import image_delete
from servers.models import BulkJob, BulkJobItem


def _names(caller: Caller, ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, str]:
    return dict(images_visible(caller=caller).filter(pk__in=ids).values_list("pk", "name"))


def _matching(caller: Caller, filters: QueryDict, _all_projects: bool, limit: int) -> list[uuid.UUID]:
    return matching_rows(ImageFilterSet, images_visible(caller=caller).order_by("name", "pk"), filters, limit)


def _ask(job: BulkJob, item: BulkJobItem, caller: Caller) -> None:
    if job.action == "delete":
        image_delete(caller=caller, image_id=item.subject)
    elif job.action == "deactivate":
        image_deactivate(image_id=item.subject)
    else:
        image_reactivate(image_id=item.subject)


IMAGES = BulkThing(_names, _matching, _ask)
