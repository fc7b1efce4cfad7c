"""What bodies about quotas may say, for each microversion."""

from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.compute.quota_names import (
    CLASS_NETWORKS_UNTIL,
    FILES_UNTIL,
    FIXED_IPS,
    NETWORKS_UNTIL,
    quota_class_names,
    quota_names,
)
from servers.openstack.compute.schemas.parts import BOOLEAN, closed, whole

_LIMIT = whole(-1)
_NEVER_LIMITED = {"enum": [-1, "-1"]}


def _set_schema(minor: int) -> CompiledSchema:
    limits = {name: _NEVER_LIMITED if name == FIXED_IPS else _LIMIT for name in quota_names(minor)}
    return CompiledSchema(closed(["quota_set"], quota_set=closed([], **limits, force=BOOLEAN)))


def _class_schema(minor: int) -> CompiledSchema:
    limits = {name: _NEVER_LIMITED if name == FIXED_IPS else _LIMIT for name in quota_class_names(minor)}
    return CompiledSchema(closed(["quota_class_set"], quota_class_set={**closed([], **limits), "minProperties": 1}))


_LAST = FILES_UNTIL + 1
_SETS = {last: _set_schema(last) for last in (NETWORKS_UNTIL, FILES_UNTIL, _LAST)}
_CLASSES = {last: _class_schema(last) for last in (CLASS_NETWORKS_UNTIL, FILES_UNTIL, _LAST)}


def quota_set_schema(minor: int) -> CompiledSchema:
    """For limits of a project or of a user."""
    return next((schema for last, schema in _SETS.items() if minor <= last), _SETS[_LAST])


def quota_class_schema(minor: int) -> CompiledSchema:
    """For limits of a class."""
    return next((schema for last, schema in _CLASSES.items() if minor <= last), _CLASSES[_LAST])
