"""A policy: which scheduler, which filters in which order, which weighers how strongly, and their options."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _

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

DEFAULT_SCHEDULER = "filter_scheduler"

MAX_SUBSET, MAX_ATTEMPTS = 10_000, 100
UNKNOWN, WRONG_TYPE, OUT_OF_RANGE, TWICE = "unknown_setting", "wrong_type", "out_of_range", "named_twice"
"""Reasons that an Invalid of this module carries in `extra["reason"]`."""


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
        "PCIWeigher",
        "CrossCellWeigher",
        "MetricsWeigher",
        "ImagePropertiesWeigher",
    )
)


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """Options of filters, weighers and request filters, with Nova's names and defaults. `extra` is for plug-ins.

    The two weight settings map names of metrics and of image properties to their weights. `cached_view_age_s`: how old
    the view of the fleet may be that `caching_scheduler` works on, in seconds. With
    `packing_host_numa_cells_allocation_strategy` guests fill the fullest NUMA cells of a host first, else the emptiest.
    """

    default_availability_zone: str = "nova"
    max_io_ops_per_host: int = 8
    max_instances_per_host: int = 50
    image_properties_default_architecture: str | None = None
    limit_tenants_to_placement_aggregate: bool = False
    placement_aggregate_required_for_tenants: bool = False
    isolated_images: tuple[str, ...] = ()
    isolated_hosts: tuple[str, ...] = ()
    restrict_isolated_hosts_to_isolated_images: bool = True
    aggregate_image_properties_isolation_namespace: str | None = None
    aggregate_image_properties_isolation_separator: str = "."
    metrics_weight_setting: Mapping[str, float] = field(default_factory=dict)
    metrics_required: bool = True
    metrics_weight_of_unavailable: float = -10000.0
    image_props_weight_setting: Mapping[str, float] = field(default_factory=dict)
    query_placement_for_image_type_support: bool = False
    enable_isolated_aggregate_filtering: bool = False
    image_metadata_prefilter: bool = False
    query_placement_for_routed_network_aggregates: bool = False
    cached_view_age_s: float = 10.0
    packing_host_numa_cells_allocation_strategy: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


WEIGHTS = frozenset({"metrics_weight_setting", "image_props_weight_setting"})
"""Options that map names to numbers."""
SIGNED = frozenset({"metrics_weight_of_unavailable"})
"""Numbers that may be below 0."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One version of the rules. `version` is what decisions name, for instance `default-v3`.

    `scheduler`: entry point or dotted path of what decides, by these filters and weighers or by its own.
    """

    version: str = "defaults"
    filters: tuple[str, ...] = DEFAULT_FILTERS
    weighers: tuple[WeigherSetting, ...] = DEFAULT_WEIGHERS
    host_subset_size: int = 1
    shuffle_best_same_weighed_hosts: bool = False
    max_attempts: int = 3
    options: PolicyOptions = field(default_factory=PolicyOptions)
    scheduler: str = DEFAULT_SCHEDULER


DEFAULT_POLICY = Policy()


def policy_to_dict(policy: Policy) -> dict[str, Any]:
    """Plain JSON values: `weighers` maps name to multiplier (null: the default), in their order."""
    options = {each.name: getattr(policy.options, each.name) for each in fields(PolicyOptions)}
    return {
        "scheduler": policy.scheduler,
        "filters": list(policy.filters),
        "weighers": {setting.name: setting.multiplier for setting in policy.weighers},
        "host_subset_size": policy.host_subset_size,
        "shuffle_best_same_weighed_hosts": policy.shuffle_best_same_weighed_hosts,
        "max_attempts": policy.max_attempts,
        "options": {name: _plain(value) for name, value in options.items()},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def policy_from_dict(data: Mapping[str, Any], *, version: str) -> Policy:
    """A policy from the body of its row; what is left out takes the default. Raises Invalid naming the field."""
    _reject_unknown(data, {each.name for each in fields(Policy)} - {"version"}, "policy")
    return Policy(
        version=version,
        scheduler=_scheduler(data.get("scheduler", DEFAULT_SCHEDULER)),
        filters=_names(data.get("filters", DEFAULT_FILTERS)),
        weighers=_weighers(data["weighers"]) if "weighers" in data else DEFAULT_WEIGHERS,
        host_subset_size=_count(data, "host_subset_size", 1, MAX_SUBSET),
        shuffle_best_same_weighed_hosts=_flag(data, "shuffle_best_same_weighed_hosts"),
        max_attempts=_count(data, "max_attempts", 3, MAX_ATTEMPTS),
        options=_options(data.get("options", {})),
    )


def _options(data: Any) -> PolicyOptions:
    if not isinstance(data, Mapping):
        raise Invalid(_("options maps names to values"), field="options", reason=WRONG_TYPE)
    known = {each.name: each for each in fields(PolicyOptions)}
    _reject_unknown(data, set(known), "options")
    defaults = asdict(PolicyOptions(extra={}))
    for name, value in data.items():
        _check_option(name, value, defaults[name])
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    return PolicyOptions(**values)


def _check_option(name: str, value: Any, default: Any) -> None:
    if not _like(value, default):
        raise Invalid(
            _("{name}: {value!r} is of the wrong type", name=name, value=value),
            field=f"options.{name}",
            reason=WRONG_TYPE,
        )
    if name in WEIGHTS:
        _check_ratios(name, value)
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0 and name not in SIGNED:
        raise Invalid(
            _("{name}: {value!r} is below 0", name=name, value=value), field=f"options.{name}", reason=OUT_OF_RANGE
        )


def _check_ratios(name: str, ratios: Mapping[Any, Any]) -> None:
    for key, ratio in ratios.items():
        if not isinstance(key, str) or isinstance(ratio, bool) or not isinstance(ratio, int | float):
            raise Invalid(_("{name} maps names to numbers", name=name), field=f"options.{name}", reason=WRONG_TYPE)
        if not math.isfinite(ratio):
            raise Invalid(
                _("{name}: {key} is not finite", name=name, key=key), field=f"options.{name}", reason=OUT_OF_RANGE
            )


def _like(value: Any, default: Any) -> bool:
    if default is None:
        return value is None or isinstance(value, str)
    if isinstance(default, int) and not isinstance(default, bool):
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if isinstance(default, tuple):
        return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    return isinstance(value, Mapping) if isinstance(default, Mapping) else isinstance(value, type(default))


def _reject_unknown(data: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(data) - known)
    if unknown:
        field = unknown[0] if where == "policy" else f"{where}.{unknown[0]}"
        raise Invalid(
            _("{where} has no setting {unknown!r}", where=where, unknown=unknown[0]), field=field, reason=UNKNOWN
        )


def _scheduler(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise Invalid(_("scheduler is the name of a scheduler"), field="scheduler", reason=WRONG_TYPE)
    return value


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) and name for name in value):
        raise Invalid(_("filters is a list of names"), field="filters", reason=WRONG_TYPE)
    if len(set(value)) != len(value):
        raise Invalid(_("a filter is named twice"), field="filters", reason=TWICE)
    return tuple(value)


def _weighers(value: Any) -> tuple[WeigherSetting, ...]:
    """From {name: multiplier}, or from a list of {"name", "multiplier"}, whose order a database preserves."""
    pairs = list(value.items()) if isinstance(value, Mapping) else _pairs(value)
    names = [name for name, _rest in pairs]
    if len(set(names)) != len(names):
        raise Invalid(_("a weigher is named twice"), field="weighers", reason=TWICE)
    return tuple(WeigherSetting(name, _multiplier(name, number)) for name, number in pairs)


def _pairs(value: Any) -> list[tuple[str, Any]]:
    wanted = _('weighers maps names to multipliers, or lists {"name", "multiplier"}')
    if not isinstance(value, list | tuple):
        raise Invalid(wanted, field="weighers", reason=WRONG_TYPE)
    for each in value:
        if not isinstance(each, Mapping) or not isinstance(each.get("name"), str) or set(each) - {"name", "multiplier"}:
            raise Invalid(wanted, field="weighers", reason=WRONG_TYPE)
    return [(each["name"], each.get("multiplier")) for each in value]


def _multiplier(name: object, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Invalid(
            _("the multiplier of {name} is not a number", name=name), field=f"weighers.{name}", reason=WRONG_TYPE
        )
    if not math.isfinite(value):
        raise Invalid(
            _("the multiplier of {name} is not finite", name=name), field=f"weighers.{name}", reason=OUT_OF_RANGE
        )
    return float(value)


def _count(data: Mapping[str, Any], name: str, default: int, maximum: int) -> int:
    value: object = data.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(_("{name} is a whole number", name=name), field=name, reason=WRONG_TYPE)
    if not 1 <= value <= maximum:
        raise Invalid(
            _("{name} is a whole number from 1 to {maximum}, not {value}", name=name, maximum=maximum, value=value),
            field=name,
            reason=OUT_OF_RANGE,
        )
    return value


def _flag(data: Mapping[str, Any], name: str) -> bool:
    value = data.get(name, False)
    if not isinstance(value, bool):
        raise Invalid(_("{name} is true or false", name=name), field=name, reason=WRONG_TYPE)
    return value
