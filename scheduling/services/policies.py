"""Versions of the scheduler's policy: made once, never changed, one active."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now

from controlplane.kernel.errors import Invalid, NotFound
from scheduling.domain.policy import policy_to_dict
from scheduling.engine import validate_policy
from scheduling.models import SchedulerPolicy
from scheduling.selectors.policies import policy_of_body


def policy_create(*, body: Mapping[str, Any], name: str = "default", activate: bool = False) -> SchedulerPolicy:
    """The next version under `name`. Every filter and weigher it names must load.

    Raises Invalid naming the setting, PluginNotFound or PluginFailed naming the plug-in.
    """
    if not name.strip() or len(name) > 64:
        raise Invalid("A policy needs a name of 1 to 64 characters.", field="name")
    policy = policy_of_body(dict(body), version="candidate")
    validate_policy(policy)
    with transaction.atomic():
        newest = SchedulerPolicy.objects.filter(name=name).aggregate(newest=Max("version"))["newest"] or 0
        row = SchedulerPolicy.objects.create(name=name, version=newest + 1, body=policy_to_dict(policy))
        if activate:
            _activate(row.id)
            row.active = True
    return row


def policy_activate(*, policy_id: UUID) -> None:
    """From the next decision on this version counts. Raises NotFound."""
    with transaction.atomic():
        _activate(policy_id)


def policy_deactivate() -> None:
    """No version is active: the defaults count again."""
    SchedulerPolicy.objects.filter(active=True).update(active=False, updated_at=Now())


def _activate(policy_id: UUID) -> None:
    """Old off before new on: the constraint allows one active row at every moment."""
    list(SchedulerPolicy.objects.select_for_update().filter(active=True).values_list("id"))
    SchedulerPolicy.objects.filter(active=True).exclude(id=policy_id).update(active=False, updated_at=Now())
    if not SchedulerPolicy.objects.filter(id=policy_id).update(active=True, updated_at=Now()):
        raise NotFound(f"There is no policy {policy_id}.")
