"""This module turns a request into the query of Placement's candidate search, as Nova builds its own."""

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from placement.candidates import CandidateQuery, Instead, RequestGroup
from scheduling.domain.request.resources import PCPU, POLICY_KEY, GroupNeeds, ResourceRequest
from scheduling.domain.request.schedule_request import ScheduleRequest


def candidate_query(
    request: ScheduleRequest, resources: ResourceRequest, *, in_tree: UUID | None = None
) -> CandidateQuery:
    """The query for one instance. `in_tree`: the only node that is wanted, where the request leaves just one.

    Dedicated CPUs are PCPU, and VCPU of hosts that offer none: both in this one query.
    Raises Invalid for what Placement would answer with 400: nothing asked for, traits of a group without resources,
    several suffixed groups without a group_policy.
    """
    query = _query(request, resources, in_tree)
    if resources.fallback is None:
        return query
    return replace(query, instead=Instead(PCPU, _query(request, resources.fallback, in_tree)))


def _query(request: ScheduleRequest, resources: ResourceRequest, in_tree: UUID | None) -> CandidateQuery:
    suffixed = {suffix: group for suffix, group in resources.groups.items() if suffix}
    _check(suffixed, resources)
    own = resources.groups.get("", GroupNeeds())
    groups = [_group(suffix, group) for suffix, group in suffixed.items()]
    if own.amounts:
        groups.insert(0, _open_group(request, own, in_tree))
    return CandidateQuery(
        groups=tuple(groups),
        group_policy=resources.group_policy,
        # Without resources of its own, the un-suffixed group has no provider that could have its traits but the root.
        root_required=request.root_required | (frozenset() if own.amounts else own.required),
        root_forbidden=request.root_forbidden | (frozenset() if own.amounts else own.forbidden),
    )


def without_tree(query: CandidateQuery) -> CandidateQuery:
    """The same query, answered from any tree."""
    instead = query.instead
    if instead is not None:
        instead = replace(instead, query=without_tree(instead.query))
    groups = tuple(replace(group, in_tree=None) for group in query.groups)
    return replace(query, groups=groups, instead=instead)


def _check(suffixed: dict[str, GroupNeeds], resources: ResourceRequest) -> None:
    if not resources.amounts:
        raise Invalid(_("the flavor asks for no resources at all"), field="flavor")
    for suffix, group in suffixed.items():
        if not group.amounts:
            raise Invalid(_("trait{suffix}: needs resources{suffix}: with it", suffix=suffix), field="flavor")
    if len(suffixed) > 1 and resources.group_policy is None:
        names = ", ".join(suffixed)
        raise Invalid(
            _("{policy_key} (none or isolate) is needed for the groups {names}", policy_key=POLICY_KEY, names=names),
            field="flavor",
        )


def _open_group(request: ScheduleRequest, own: GroupNeeds, in_tree: UUID | None) -> RequestGroup:
    return RequestGroup(
        resources=own.amounts,
        required=_each(own.required),
        forbidden=own.forbidden,
        member_of=tuple(frozenset(map(UUID, wanted)) for wanted in request.member_of),
        forbidden_aggregates=frozenset(map(UUID, request.forbidden_aggregates)),
        in_tree=in_tree,
    )


def _group(suffix: str, group: GroupNeeds) -> RequestGroup:
    return RequestGroup(
        suffix=suffix, resources=group.amounts, required=_each(group.required), forbidden=group.forbidden
    )


def _each(traits: Iterable[str]) -> tuple[frozenset[str], ...]:
    """A conjunction of all these names: a set of alternatives for each."""
    return tuple(frozenset({trait}) for trait in sorted(traits))
