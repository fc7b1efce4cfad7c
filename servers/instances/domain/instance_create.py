"""What a caller asks for who asks for instances, and what is wrong with its words alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from servers.fields import Problems, problems_found
from servers.instances.domain.guest_config_rules import guest_config_problems
from servers.instances.domain.instance_rules import ALL_OR_NOTHING, batch_reasons, instance_problems


@dataclass(frozen=True, slots=True)
class InstanceCreate:
    """What a caller asks for. `flavor` and `image` by id or name; `user_data` in base64; counts for a batch.

    `batch`: all_or_nothing, or best_effort: as many as find a host, min_count at least; the others end in ERROR.
    `personality`: files for the guests, objects with `path` and `contents` in base64. `host` and `hypervisor_hostname`
    are where an administrator would like them to be, subject to all filters. `networks`: a list of objects, each of a
    network (id or name) with or without a `fixed_ip`, or of a port, and a `tag`; or `auto` or `none`.
    `security_groups` by id or name, for the ports that are made. `block_device_mapping_v2`: the disks, a list of
    objects as Nova has them; `image` may be empty where one of them is booted from.
    """

    name: str
    flavor: str
    image: str = ""
    min_count: int = 1
    max_count: int | None = None
    availability_zone: str = ""
    hints: Mapping[str, Any] = field(default_factory=dict)
    key_name: str = ""
    user_data: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[Any] = ()
    description: str = ""
    batch: str = ALL_OR_NOTHING
    protected: bool = False
    hostname: str = ""
    access_ip_v4: str = ""
    access_ip_v6: str = ""
    config_drive: bool | None = None
    disk_config: str = ""
    trusted_image_certificates: Sequence[str] = ()
    admin_pass: str = field(default="", repr=False)
    personality: Sequence[Mapping[str, str]] = field(default=(), repr=False)
    host: str = ""
    hypervisor_hostname: str = ""
    networks: object = None
    security_groups: Sequence[str] = ()
    block_device_mapping_v2: object = None

    @property
    def count_max(self) -> int:
        """How many it may be at most."""
        return self.min_count if self.max_count is None else self.max_count


def words_problems(wanted: InstanceCreate) -> Problems:
    """Everything that is wrong with the words of the request, by field; what it names is not looked up."""
    return {
        **instance_problems(
            name=wanted.name,
            metadata=wanted.metadata,
            tags=wanted.tags,
            user_data=wanted.user_data,
            min_count=wanted.min_count,
            max_count=wanted.max_count,
            description=wanted.description,
            availability_zone=wanted.availability_zone,
        ),
        **problems_found({"batch": batch_reasons(wanted.batch)}),
        **guest_config_problems(
            hostname=wanted.hostname,
            max_count=wanted.count_max,
            access_ip_v4=wanted.access_ip_v4,
            access_ip_v6=wanted.access_ip_v6,
            admin_pass=wanted.admin_pass,
            personality=wanted.personality,
        ),
    }
