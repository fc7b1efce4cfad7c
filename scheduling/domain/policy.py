"""A policy: which filters in which order, which weighers how strongly, and the scheduler's options."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from controlplane.kernel.errors import Invalid

DEFAULT_FILTERS = (
    "ComputeFilter",
    "ComputeCapabilitiesFilter",
    "ImagePropertiesFilter",
    "AggregateInstanceExtraSpecsFilter",
    "AggregateMultiTenancyIsolation",
    "SameHostFilter",
    "DifferentHostFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
)


@dataclass(frozen=True, slots=True)
class WeigherSetting:
    """One weigher of a policy; multiplier None means the weigher's own default."""

    name: str
    multiplier: float | None = None


DEFAULT_WEIGHERS = tuple(
    WeigherSetting(name)
    for name in (
        "RAMWeigher",
        "CPUWeigher",
        "DiskWeigher",
        "IoOpsWeigher",
        "NumInstancesWeigher",
        "HypervisorVersionWeigher",
        "ServerGroupSoftAffinityWeigher",
        "ServerGroupSoftAntiAffinityWeigher",
        "BuildFailureWeigher",
    )
)


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """Options of filters and request filters, with Nova's names and defaults. `extra` is for plug-ins."""

    default_availability_zone: str = "nova"
    max_io_ops_per_host: int = 8
    max_instances_per_host: int = 50
    image_properties_default_architecture: str | None = None
    limit_tenants_to_placement_aggregate: bool = False
    placement_aggregate_required_for_tenants: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policy:
    """One version of the rules. `version` is what decisions name, for instance `default-v3`."""

    version: str = "defaults"
    filters: tuple[str, ...] = DEFAULT_FILTERS
    weighers: tuple[WeigherSetting, ...] = DEFAULT_WEIGHERS
    host_subset_size: int = 1
    shuffle_best_same_weighed_hosts: bool = False
    max_attempts: int = 3
    options: PolicyOptions = field(default_factory=PolicyOptions)


DEFAULT_POLICY = Policy()


def policy_to_dict(policy: Policy) -> dict[str, Any]:
    """Plain JSON values: `weighers` maps name to multiplier (null: the default), in their order."""
    options = {each.name: getattr(policy.options, each.name) for each in fields(PolicyOptions)}
    return {
        "filters": list(policy.filters),
        "weighers": {setting.name: setting.multiplier for setting in policy.weighers},
        "host_subset_size": policy.host_subset_size,
        "shuffle_best_same_weighed_hosts": policy.shuffle_best_same_weighed_hosts,
        "max_attempts": policy.max_attempts,
        "options": {**options, "extra": dict(policy.options.extra)},
    }


def policy_from_dict(data: Mapping[str, Any], *, version: str) -> Policy:
    """A policy from the body of its row; what is left out takes the default. Raises Invalid naming the field."""
    _reject_unknown(data, {each.name for each in fields(Policy)} - {"version"}, "policy")
    return Policy(
        version=version,
        filters=_names(data.get("filters", DEFAULT_FILTERS)),
        weighers=_weighers(data["weighers"]) if "weighers" in data else DEFAULT_WEIGHERS,
        host_subset_size=_count(data, "host_subset_size", 1),
        shuffle_best_same_weighed_hosts=_flag(data, "shuffle_best_same_weighed_hosts"),
        max_attempts=_count(data, "max_attempts", 3),
        options=_options(data.get("options", {})),
    )


def _options(data: Mapping[str, Any]) -> PolicyOptions:
    known = {each.name: each for each in fields(PolicyOptions)}
    _reject_unknown(data, set(known), "options")
    defaults = asdict(PolicyOptions(extra={}))
    for name, value in data.items():
        if not _like(value, defaults[name]):
            raise Invalid(f"{name}: {value!r} is of the wrong type", field=f"options.{name}")
    return PolicyOptions(**data)


def _like(value: Any, default: Any) -> bool:
    if default is None:
        return value is None or isinstance(value, str)
    if isinstance(default, int) and not isinstance(default, bool):
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return isinstance(value, Mapping) if isinstance(default, Mapping) else isinstance(value, type(default))


def _reject_unknown(data: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(data) - known)
    if unknown:
        raise Invalid(f"{where} has no setting {unknown[0]!r}", field=unknown[0])


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) and name for name in value):
        raise Invalid("filters is a list of names", field="filters")
    if len(set(value)) != len(value):
        raise Invalid("a filter is named twice", field="filters")
    return tuple(value)


def _weighers(value: Any) -> tuple[WeigherSetting, ...]:
    if not isinstance(value, Mapping):
        raise Invalid("weighers maps names to multipliers", field="weighers")
    return tuple(WeigherSetting(str(name), _multiplier(name, number)) for name, number in value.items())


def _multiplier(name: object, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Invalid(f"the multiplier of {name} is not a number", field=f"weighers.{name}")
    return float(value)


def _count(data: Mapping[str, Any], name: str, default: int) -> int:
    value: object = data.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Invalid(f"{name} is a whole number of at least 1", field=name)
    return value


def _flag(data: Mapping[str, Any], name: str) -> bool:
    value = data.get(name, False)
    if not isinstance(value, bool):
        raise Invalid(f"{name} is true or false", field=name)
    return value
