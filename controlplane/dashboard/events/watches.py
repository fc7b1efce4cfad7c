"""What a page can ask to be told of, and who may: the rule of whoever may look at the page.

A hint says only that something changed, but that is activity too: who may not see a thing must not learn when it moves.
"""

from collections.abc import Collection, Mapping
from uuid import UUID

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.errors import Invalid
from controlplane.kernel.ids import parse_uuid
from controlplane.work.hints import (
    HOSTS,
    INSTANCES,
    VOLUMES,
    WORK,
    host_topic,
    instance_topic,
    project_topic,
    project_volumes_topic,
    volume_topic,
)
from servers.instances.selectors.instances import instance_get
from servers.volumes.selectors.volumes import volume_get

MAX_WATCHES = 8
MAX_CHARS = 300
FORMS = "instances, instances:all, instance:ID, volumes, volume:ID, hosts, host:NAME or work"


def topics_watched(caller: Caller, watches: Collection[str]) -> Mapping[str, str]:
    """{topic: watch} of what the caller may be told of.

    Raises Invalid, Forbidden, and NotFound for an instance or volume that the caller may not know of.
    """
    if not 0 < len(watches) <= MAX_WATCHES:
        raise Invalid(f"A page watches 1 to {MAX_WATCHES} things: {FORMS}.", field="watch")
    return {_topic(caller, watch): watch for watch in watches}


def _topic(caller: Caller, watch: str) -> str:
    if len(watch) > MAX_CHARS or not watch.isprintable():
        raise Invalid(f"A watch is {FORMS}.", field="watch")
    kind, _, name = watch.partition(":")
    match kind, name:
        case "instances", "":
            require(caller, "instances:read")
            return project_topic(caller.project_id)
        case "instances", "all":
            require(caller, "instances:read_all")
            return INSTANCES
        case "instance", _ if (instance_id := parse_uuid(name)) is not None:
            return _instance(caller, instance_id)
        case "hosts", "":
            require(caller, "hosts:read")
            return HOSTS
        case "host", _ if name:
            require(caller, "hosts:read")
            return host_topic(name)
    return _others(caller, kind, name)


def _instance(caller: Caller, instance_id: UUID) -> str:
    require(caller, "instances:read")
    instance_get(caller=caller, instance_id=instance_id)
    return instance_topic(instance_id)


def _others(caller: Caller, kind: str, name: str) -> str:
    if kind == "work" and not name:
        require(caller, "work:read")
        return WORK
    if kind == "volumes" and not name:
        require(caller, "volumes:read")
        return VOLUMES if caller.is_admin else project_volumes_topic(caller.project_id)
    if kind == "volume" and (volume_id := parse_uuid(name)) is not None:
        require(caller, "volumes:read")
        volume_get(caller=caller, volume_id=volume_id)
        return volume_topic(volume_id)
    raise Invalid(f"A watch is {FORMS}.", field="watch")
