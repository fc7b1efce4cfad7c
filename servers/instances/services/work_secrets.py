"""Passwords on their way to the agent of a host, each with one piece of work.

A password has to outlive a control plane that is killed between the request and the agent's taking, and an agent that
is away: so it is a row. It is no part of the work, whose arguments are kept and shown as history, but a row of its own,
sealed by the installation's key, since tables are dumped and replicated. Whoever ends the work removes it in the same
transaction; the sweep removes what other ends (a cancelled work, a task that was ended by a person) left.
"""

import json
import logging
import uuid
from collections.abc import Mapping

from controlplane.infra.secret_encryption import secret_decrypt, secret_encrypt
from controlplane.kernel.errors import Invalid
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from servers.instances.actions.rescue import REBUILD, RESCUE
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.table import ACTION_OF_WORK
from servers.instances.services.first_boot import first_boot_erase
from servers.models import WorkSecret

PURPOSE = b"kilonova work secrets"

log = logging.getLogger(__name__)


def work_secrets_store(work: Work, secrets: Mapping[str, str]) -> None:
    """Keep these arguments of the work, by name, until it ends. In the transaction that writes the work."""
    sealed = secret_encrypt(json.dumps(dict(secrets)), purpose=PURPOSE)
    WorkSecret.objects.create(work_id=work.pk, instance_uuid=work.subject, sealed=sealed)


def work_secrets_of(work: Work) -> dict[str, str]:
    """The secret arguments of this work. Those that were sealed under another SECRET_KEY cannot be read, and are left
    out: the agent then says that it was told none.
    """
    if not has_secrets(ACTION_OF_WORK[work.kind]):
        return {}
    row = WorkSecret.objects.filter(pk=work.pk).first()
    if row is None:
        return {}
    try:
        found = json.loads(secret_decrypt(row.sealed, purpose=PURPOSE))
    except Invalid as error:
        log.error("the secret of work %s cannot be read: %s", work.pk, error.message)
        return {}
    return {str(name): str(value) for name, value in found.items()}


def work_secrets_forget(rule: ActionRule, *, work_id: uuid.UUID, instance_id: uuid.UUID) -> None:
    """Its work ended, well or not. Costs nothing for an action that takes no secret."""
    if has_secrets(rule):
        WorkSecret.objects.filter(pk=work_id).delete()
    if rule in (REBUILD, RESCUE):
        first_boot_erase(instance_id)


def work_secrets_sweep() -> int:
    """Remove what belongs to no open work. Returns how many."""
    stored = set(WorkSecret.objects.values_list("pk", flat=True))
    if not stored:
        return 0
    still_open = set(Work.objects.filter(pk__in=stored, state__in=OPEN_STATES).values_list("pk", flat=True))
    return WorkSecret.objects.filter(pk__in=stored - still_open).delete()[0]


def has_secrets(rule: ActionRule) -> bool:
    """Whether the action may be asked for with a secret."""
    return any(one.is_secret for one in rule.arguments)
