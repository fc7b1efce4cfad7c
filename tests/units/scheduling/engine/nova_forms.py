"""Filters in the forms that Nova has had: the older mapping, all hosts at once, once per request."""

from typing import Any

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.filters import BaseHostFilter

SEEN: list[Any] = []


class Icehouse(BaseHostFilter):
    """Written for the Icehouse release."""

    def host_passes(self, host_state: Any, filter_properties: Any) -> bool:  # type: ignore[override]
        SEEN.append(filter_properties)
        if host_state.host in filter_properties.get("ignore_hosts", []):
            return False
        wanted = filter_properties["instance_type"]["memory_mb"]
        rack = filter_properties.get("scheduler_hints", {}).get("rack", "")
        return bool(host_state.free_ram_mb >= wanted and host_state.host.startswith(rack))


class IcehouseUnrelated:
    """The same form, inheriting from nothing."""

    host_passes = Icehouse.host_passes


class Emptiest(BaseHostFilter):
    """Compares hosts: only the one with the most free memory passes."""

    def filter_all(self, filter_obj_list: Any, spec_obj: Any) -> Any:
        SEEN.append(spec_obj)
        best = max(filter_obj_list, key=lambda state: (state.free_ram_mb, state.host))
        yield best


class EmptiestUnrelated:
    """Has nothing but `filter_all`, in the older form."""

    def filter_all(self, filter_obj_list: Any, filter_properties: Any) -> Any:
        SEEN.append(filter_properties)
        return [max(filter_obj_list, key=lambda state: (state.free_ram_mb, state.host))]


class FirstTwoOfThose(BaseHostFilter):
    """Asks its own `host_passes` through the base class, and takes the first two."""

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool | Refusal:
        return host_state.host != "h0" or Refusal(RefusalReason.RAM_SHORT)

    def filter_all(self, filter_obj_list: Any, spec_obj: Any) -> Any:
        return list(super().filter_all(filter_obj_list, spec_obj))[:2]


class OncePerRequest(BaseHostFilter):
    """Its answer holds for the whole batch."""

    run_filter_once_per_request = True

    def filter_all(self, filter_obj_list: Any, spec_obj: Any) -> Any:
        SEEN.append([state.host for state in filter_obj_list])
        return filter_obj_list


class PassesStrangers(BaseHostFilter):
    def filter_all(self, filter_obj_list: Any, spec_obj: Any) -> Any:
        return ["h0"]


class PassesNothingAtAll(BaseHostFilter):
    def filter_all(self, filter_obj_list: Any, spec_obj: Any) -> Any:
        return None


class RaisesInTheMiddle(BaseHostFilter):
    def filter_all(self, filter_obj_list: Any, spec_obj: Any) -> Any:
        yield filter_obj_list[0]
        raise SystemExit(3)
