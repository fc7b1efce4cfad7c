"""The filters of lists of servers: what each asks of the rows, of requests that have no row yet, and who may use it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import orjson
from django.db.models import Q
from django.db.models.fields.json import KT
from django.db.models.lookups import Exact

from controlplane.kernel.errors import InvalidFields
from controlplane.openstack.described import QueryNames
from controlplane.openstack.faults import ApiFault, bad_request
from servers.catalog.selectors.flavor import flavor_ids_known_as
from servers.instances.selectors.instances import instances_ever
from servers.models import InstanceTag
from servers.networks.selectors.address_search import instances_by_address, pattern_reasons
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.lists.values import flag, identifier, moment, pattern
from servers.states import POWER_STATE_CODES, STATUSES, status_states

NOTHING = Q(pk__in=[])
STRICT_STATUS_SINCE, OPEN_SINCE = 38, 83

Rule = Callable[[ComputeCall, str, list[str]], Q]


@dataclass(frozen=True, slots=True)
class ServerFilter:
    """One parameter. `of_rows` is what it asks of the rows of instances; `of_requests` of build requests, None where
    none of them can be meant. `since`: the first version that has it; `open_since`: the first in which everybody may
    use it, None for administrators alone in each.
    """

    of_rows: Rule
    of_requests: Rule | None = None
    since: int = 1
    open_since: int | None = 1


def _column(column: str, body: str = "") -> tuple[Rule, Rule]:
    """The last value, as it is."""

    def of_rows(_call: ComputeCall, _name: str, values: list[str]) -> Q:
        return Q(**{column: values[-1]})

    def of_requests(_call: ComputeCall, _name: str, values: list[str]) -> Q:
        return Q(**{f"instance_body__{body or column}": values[-1]})

    return of_rows, of_requests


def _id(column: str, request_column: str) -> tuple[Rule, Rule]:
    def rule(column: str, *, is_text: bool) -> Rule:
        def of(_call: ComputeCall, name: str, values: list[str]) -> Q:
            found = identifier(name, values[-1])
            return NOTHING if found is None else Q(**{column: str(found) if is_text else found})

        return of

    return rule(column, is_text=False), rule(request_column, is_text=request_column.startswith("instance_body__"))


def _flavor(_call: ComputeCall, _name: str, values: list[str]) -> Q:
    return Q(flavor_id__in=flavor_ids_known_as(wire_id=values[-1]))


def _flavor_of_requests(_call: ComputeCall, _name: str, values: list[str]) -> Q:
    return Q(instance_body__flavor_id__in=[str(one) for one in flavor_ids_known_as(wire_id=values[-1])])


def _text(column: str) -> tuple[Rule, Rule]:
    """A part of the text, or a regular expression."""

    def of_rows(_call: ComputeCall, name: str, values: list[str]) -> Q:
        text, is_expression = pattern(name, values[-1])
        return Q(**{f"{column}__{'regex' if is_expression else 'contains'}": text})

    def of_requests(_call: ComputeCall, name: str, values: list[str]) -> Q:
        text, is_expression = pattern(name, values[-1])
        # Within JSON, `contains` asks for something else.
        return Q(**{f"instance_body__{column}__regex": text if is_expression else re.escape(text)})

    return of_rows, of_requests


def _second(column: str) -> Rule:
    """Within the second that is named, as documents show no more of it."""

    def of_rows(_call: ComputeCall, name: str, values: list[str]) -> Q:
        found = moment(name, values[-1])
        begin = found.replace(microsecond=0)
        return Q(**{f"{column}__gte": begin, f"{column}__lte": begin.replace(microsecond=999_999)})

    return of_rows


def _states(call: ComputeCall, values: list[str]) -> list[tuple[str, str]]:
    """Of statuses. Raises Fault 400 for one that there is not, in the versions in which Nova does."""
    found: list[tuple[str, str]] = []
    for value in values:
        if value.upper() not in STATUSES and call.minor >= STRICT_STATUS_SINCE:
            raise bad_request(f"Invalid status value {value:.40}")
        found += [(vm.value, task.value) for vm, task in status_states(value.upper())]
    return found


def _status(call: ComputeCall, _name: str, values: list[str]) -> Q:
    wanted = NOTHING
    for vm_state, task_state in _states(call, values):
        wanted |= Q(vm_state=vm_state, task_state=task_state)
    return wanted


def _status_of_requests(call: ComputeCall, _name: str, values: list[str]) -> Q:
    wanted = NOTHING
    for vm_state, task_state in _states(call, values):
        wanted |= Q(instance_body__vm_state=vm_state, instance_body__task_state=task_state)
    return wanted


def _vm_state(_call: ComputeCall, _name: str, values: list[str]) -> Q:
    return Q(vm_state__in=[value.lower() for value in values])


def _task_state(_call: ComputeCall, _name: str, values: list[str]) -> Q:
    return Q(task_state__in=["" if value in ("", "None") else value.lower() for value in values])


def _power_state(_call: ComputeCall, name: str, values: list[str]) -> Q:
    codes = {str(code): state.value for state, code in POWER_STATE_CODES.items()}
    if unknown := [value for value in values if value not in codes]:
        raise bad_request(f"Invalid input for query parameters {name}. Value: {unknown[0]:.40}.")
    return Q(power_state__in=[codes[value] for value in values])


def _flag_column(column: str) -> Rule:
    def of_rows(_call: ComputeCall, name: str, values: list[str]) -> Q:
        return Q(**{column: flag(name, values[-1])})

    return of_rows


def _address(version: int) -> Rule:
    def of_rows(call: ComputeCall, name: str, values: list[str]) -> Q:
        if reasons := pattern_reasons(values[-1]):
            raise InvalidFields({name: reasons})
        everywhere = instances_ever(caller=call.caller, all_projects=True)
        return Q(pk__in=instances_by_address(everywhere, values[-1], version=version).values("pk"))

    return of_rows


def _number(column: str) -> Rule:
    def of_rows(_call: ComputeCall, name: str, values: list[str]) -> Q:
        value = values[-1]
        if not (value.isdecimal() and value.isascii()) or len(value) > 9:
            raise bad_request(f"Invalid input for query parameters {name}. Value: {value:.40}. It must be a number.")
        return Q(**{column: int(value)})

    return of_rows


def _tags(*, is_any: bool, is_not: bool) -> Rule:
    """Names of tags with commas between them."""

    def of_rows(_call: ComputeCall, _name: str, values: list[str]) -> Q:
        tags = [tag for value in values for tag in value.split(",") if tag]
        wanted = Q()
        if is_any:
            wanted = Q(pk__in=InstanceTag.objects.filter(tag__in=tags).values("instance_id"))
        else:
            for tag in tags:
                wanted &= Q(pk__in=InstanceTag.objects.filter(tag=tag).values("instance_id"))
        return ~wanted if is_not else wanted

    return of_rows


def _metadata(_call: ComputeCall, name: str, values: list[str]) -> Q:
    """An object of texts, written as JSON."""
    wanted = Q()
    for value in values:
        try:
            pairs = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise bad_request(f"Invalid input for query parameters {name}. It is no JSON object.") from error
        if not isinstance(pairs, Mapping) or not all(isinstance(text, str) for text in pairs.values()):
            raise bad_request(f"Invalid input for query parameters {name}. It is no JSON object of texts.")
        for key, text in pairs.items():
            if "__" in key:
                raise bad_request(f"Invalid input for query parameters {name}. Key: {key:.80}.")
            wanted &= Q(Exact(KT(f"metadata__{key}"), text))
    return wanted


def _since(_call: ComputeCall, name: str, values: list[str]) -> Q:
    return Q(updated_at__gte=moment(name, values[-1]))


def _before(_call: ComputeCall, name: str, values: list[str]) -> Q:
    return Q(updated_at__lte=moment(name, values[-1]))


def _soft_deleted(_call: ComputeCall, name: str, values: list[str]) -> Q:
    is_wanted = flag(name, values[-1])
    return Q(vm_state="soft-delete") if is_wanted else ~Q(vm_state="soft-delete")


_NAME = _text("name")
_PROJECT = _id("project_id", "project_id")

FILTERS: dict[str, ServerFilter] = {
    "name": ServerFilter(*_NAME),
    "display_name": ServerFilter(*_NAME, open_since=None),
    "description": ServerFilter(*_text("description"), open_since=None),
    "status": ServerFilter(_status, _status_of_requests),
    "image": ServerFilter(*_id("image_id", "instance_body__image_id")),
    "flavor": ServerFilter(_flavor, _flavor_of_requests),
    "reservation_id": ServerFilter(*_id("reservation_id", "reservation_id")),
    "ip": ServerFilter(_address(4)),
    "ip6": ServerFilter(_address(6), open_since=5),
    "changes-since": ServerFilter(_since, _since),
    "changes-before": ServerFilter(_before, _before, since=66),
    "tags": ServerFilter(_tags(is_any=False, is_not=False), since=26),
    "tags-any": ServerFilter(_tags(is_any=True, is_not=False), since=26),
    "not-tags": ServerFilter(_tags(is_any=False, is_not=True), since=26),
    "not-tags-any": ServerFilter(_tags(is_any=True, is_not=True), since=26),
    "locked": ServerFilter(_flag_column("locked"), since=73),
    "availability_zone": ServerFilter(*_column("availability_zone"), open_since=OPEN_SINCE),
    "config_drive": ServerFilter(_flag_column("config_drive"), open_since=OPEN_SINCE),
    "key_name": ServerFilter(*_column("key_name"), open_since=OPEN_SINCE),
    "created_at": ServerFilter(_second("created_at"), _second("created_at"), open_since=OPEN_SINCE),
    "launched_at": ServerFilter(_second("launched_at"), open_since=OPEN_SINCE),
    "terminated_at": ServerFilter(_second("terminated_at"), open_since=OPEN_SINCE),
    "power_state": ServerFilter(_power_state, open_since=OPEN_SINCE),
    "task_state": ServerFilter(_task_state, open_since=OPEN_SINCE),
    "vm_state": ServerFilter(_vm_state, open_since=OPEN_SINCE),
    "user_id": ServerFilter(*_id("user_id", "user_id"), open_since=OPEN_SINCE),
    "uuid": ServerFilter(*_id("pk", "instance_uuid"), open_since=None),
    "hostname": ServerFilter(*_column("hostname"), open_since=None),
    "access_ip_v4": ServerFilter(*_column("access_ip_v4"), open_since=None),
    "access_ip_v6": ServerFilter(*_column("access_ip_v6"), open_since=None),
    "host": ServerFilter(_column("host")[0], open_since=None),
    "node": ServerFilter(_column("node")[0], open_since=None),
    "launch_index": ServerFilter(_number("launch_index"), open_since=None),
    "locked_by": ServerFilter(_column("locked_as")[0], open_since=None),
    "metadata": ServerFilter(_metadata, open_since=None),
    "project_id": ServerFilter(*_PROJECT, open_since=None),
    "tenant_id": ServerFilter(*_PROJECT, open_since=None),
    "soft_deleted": ServerFilter(_soft_deleted, open_since=None),
}
OTHER_NAMES = QueryNames({"all_tenants", "deleted", "limit", "marker", "sort_key", "sort_dir"})
UNSUPPORTED = frozenset({"kernel_id", "ramdisk_id", "root_device_name", "progress", "image_ref", "auto_disk_config"})
"""What Nova lists by and this API does not: refused, so that nobody takes a list for the answer."""


def known_names(minor: int) -> QueryNames:
    """Parameters that this version has."""
    return QueryNames({*OTHER_NAMES, *UNSUPPORTED, *(name for name, one in FILTERS.items() if one.since <= minor)})


def filters_asked(call: ComputeCall) -> dict[str, tuple[ServerFilter, list[str]]]:
    """The filters of a question with their values. What no version knows is passed over in those in which Nova does so.

    Raises Fault 400, and 403 for a filter that is for administrators.
    """
    call.check_names(known_names(call.minor))
    if unsupported := sorted(UNSUPPORTED & set(call.query)):
        raise bad_request(f"Servers are not listed by {unsupported[0]} here.")
    asked = {}
    for name, one in FILTERS.items():
        if name not in call.query or one.since > call.minor:
            continue
        if not call.caller.sees_all and (one.open_since is None or call.minor < one.open_since):
            raise ApiFault(403, f"Only administrators may list servers by {name}.")
        asked[name] = one, call.query.getlist(name)
    return asked
