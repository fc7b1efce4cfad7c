"""Which policy the scheduler follows, and which runs beside it."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from scheduling.conf import SchedulingOptions, scheduling_options
from scheduling.domain.policy import Policy, PolicyOptions, policy_from_dict
from scheduling.fleet.cache.changes import change_feed
from scheduling.models import SchedulerPolicy
from scheduling.policies.domain.states import PolicyState

DEFAULTS = "defaults"


@dataclass(frozen=True, slots=True)
class ShadowPolicy:
    """The version that runs beside the active one on a share (0 to 1) of the requests."""

    id: UUID
    body: Mapping[str, Any]
    version: str
    share: float


def policy_active() -> Policy:
    """The active version, or the defaults with the options of the settings.

    One small query, which reads no table. A run of the scheduler has polled already: see `policies_as_polled`.
    """
    change_feed().read()
    return policies_as_polled().policy()


def policy_of_body(body: Mapping[str, Any], *, version: str) -> Policy:
    """A policy from a row's body; options it does not name come from settings. Raises Invalid naming the field."""
    return policy_from_dict(body_completed(body), version=version)


def body_completed(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body with what settings say of things it does not name. What is of the wrong kind stays as it is."""
    settings = scheduling_options()
    given = body.get("options", {})
    options = {**_options_of_settings(), **given} if isinstance(given, Mapping) else given
    return {"max_attempts": settings.max_attempts, **body, "options": options}


def attempts_allowed() -> int:
    """Hosts that may be tried for one instance, the first included. Queries as `policy_active`."""
    change_feed().read()
    return policies_as_polled().attempts_allowed()


def active_id() -> UUID | None:
    """Which version is active; None while the defaults count."""
    row = SchedulerPolicy.objects.filter(state=PolicyState.ACTIVE).first()
    return None if row is None else row.id


def policy_list() -> QuerySet[SchedulerPolicy]:
    """All versions, the newest of each name first."""
    return SchedulerPolicy.objects.all()


def policy_get(*, policy_id: UUID) -> SchedulerPolicy:
    """One version. Raises NotFound."""
    row = SchedulerPolicy.objects.filter(id=policy_id).first()
    if row is None:
        raise NotFound(_("There is no policy {policy_id}.", policy_id=policy_id))
    return row


def policy_of_row(row: SchedulerPolicy) -> Policy:
    """What the scheduler makes of a row. Raises Invalid naming the field."""
    return policy_of_body(row.body, version=row.label)


def shadow_policy() -> ShadowPolicy | None:
    """The version that is marked as shadow, without a look at plug-ins. Queries as `policy_active`."""
    change_feed().read()
    return policies_as_polled().shadow


def shadow_is_known() -> bool:
    """Whether there was a shadow when this process last asked for a policy. No query."""
    return _CACHE.known.shadow is not None


class PoliciesInForce:
    """The versions that count, as they were read; what the scheduler makes of the active one, for these settings."""

    def __init__(self, rows: Sequence[SchedulerPolicy]) -> None:
        self.active = next((row for row in rows if row.active), None)
        shadow = next((row for row in rows if row.shadow), None)
        self.shadow = None if shadow is None else _shadow(shadow)
        self._made: tuple[SchedulingOptions, Policy] | None = None

    def policy(self) -> Policy:
        """The active version as the scheduler takes it."""
        options, made = scheduling_options(), self._made
        if made is None or made[0] != options:
            row = self.active
            policy = policy_of_body({}, version=DEFAULTS) if row is None else policy_of_row(row)
            made = self._made = options, policy
        return made[1]

    def policies(self) -> tuple[Policy, ...]:
        """The active version and, beside it, the shadow if there is one."""
        if self.shadow is None:
            return (self.policy(),)
        return self.policy(), policy_of_body(self.shadow.body, version=self.shadow.version)

    def attempts_allowed(self) -> int:
        """Hosts that may be tried for one instance, the first included: the active policy's, else the setting's."""
        maximum = scheduling_options().max_attempts
        return maximum if self.active is None else int(self.active.body.get("max_attempts", maximum))


class _PolicyCache:
    """A cache of the versions that count, read again when the change feed reports a change; `known` were read last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.known = PoliciesInForce(())

    def read(self) -> PoliciesInForce:
        """Those that counted when the change feed was polled last."""
        with self._lock:
            changes = change_feed().changes_for("policies", ("policy",))
            if changes.everything or changes.of("policy"):
                counting = Q(state=PolicyState.ACTIVE) | Q(shadow=True)
                self.known = PoliciesInForce(list(SchedulerPolicy.objects.filter(counting)))
            return self.known


_CACHE = _PolicyCache()


def policies_as_polled() -> PoliciesInForce:
    """As of this process's last poll of the change feed. No query, unless some version had changed by then."""
    return _CACHE.read()


def _shadow(row: SchedulerPolicy) -> ShadowPolicy:
    return ShadowPolicy(id=row.id, body=row.body, version=row.label, share=row.shadow_share)


def _options_of_settings() -> dict[str, Any]:
    options = scheduling_options()
    from_settings = PolicyOptions(
        default_availability_zone=options.default_zone,
        limit_tenants_to_placement_aggregate=options.limit_tenants_to_placement_aggregate,
        placement_aggregate_required_for_tenants=options.placement_aggregate_required_for_tenants,
        query_placement_for_image_type_support=options.query_placement_for_image_type_support,
        enable_isolated_aggregate_filtering=options.enable_isolated_aggregate_filtering,
        image_metadata_prefilter=options.image_metadata_prefilter,
        query_placement_for_routed_network_aggregates=options.query_placement_for_routed_network_aggregates,
    )
    return asdict(from_settings)
