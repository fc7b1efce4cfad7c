"""All request filters in their order, and the request as they leave it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.request_filters.base import NOTHING, Addition, RequestFilter, Surroundings
from scheduling.request_filters.by_aggregates import (
    isolate_aggregates,
    map_az_to_placement_aggregate,
    require_tenant_aggregate,
    routed_networks_filter,
)
from scheduling.request_filters.by_feature import (
    accelerators_filter,
    compute_status_filter,
    ephemeral_encryption_filter,
    owner_nova_filter,
    packed_virtqueue_filter,
    remote_managed_ports_filter,
    tpm_secret_security_filter,
    virtio_sound_filter,
)
from scheduling.request_filters.by_hardware import guest_hardware_filter
from scheduling.request_filters.by_image import require_image_type_support, transform_image_metadata

REQUEST_FILTERS: tuple[RequestFilter, ...] = (
    require_tenant_aggregate,
    map_az_to_placement_aggregate,
    require_image_type_support,
    compute_status_filter,
    isolate_aggregates,
    transform_image_metadata,
    accelerators_filter,
    packed_virtqueue_filter,
    routed_networks_filter,
    remote_managed_ports_filter,
    ephemeral_encryption_filter,
    virtio_sound_filter,
    tpm_secret_security_filter,
    owner_nova_filter,
    guest_hardware_filter,
)
"""Nova's request filters in its order, and one of our own. None reads what another added."""


@dataclass(frozen=True, slots=True)
class FilteredRequest:
    """The request with all that was added, and what each filter (by name) added to it, if anything."""

    request: ScheduleRequest
    additions: Mapping[str, Addition]

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks of the filters, for the trace."""
        return tuple(note for each in self.additions.values() for note in each.notes)


def surroundings_of(table: HostTable, policy: Policy) -> Surroundings:
    """What a host table and a policy say of a request's surroundings."""
    return Surroundings(table.aggregates, policy.options, table.min_service_version)


def filter_request(request: ScheduleRequest, around: Surroundings) -> FilteredRequest:
    """Apply all request filters; a rebuild stays as it is. Applying them twice changes nothing more.

    Raises Invalid where flavor and image contradict each other, or want what there is none of.
    """
    if request.is_rebuild:
        return FilteredRequest(request, {})
    answers = {each.__name__: each(request, around) for each in REQUEST_FILTERS}
    additions = {name: one for name, one in answers.items() if one != NOTHING}
    return FilteredRequest(_with(request, list(additions.values())), additions)


def _with(request: ScheduleRequest, additions: list[Addition]) -> ScheduleRequest:
    return replace(
        request,
        root_required=request.root_required.union(*(each.required for each in additions)),
        root_forbidden=request.root_forbidden.union(*(each.forbidden for each in additions)),
        member_of=tuple(dict.fromkeys((*request.member_of, *(one for each in additions for one in each.member_of)))),
        forbidden_aggregates=request.forbidden_aggregates.union(*(each.forbidden_aggregates for each in additions)),
    )
