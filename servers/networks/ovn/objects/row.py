"""A row of the northbound database as it is wanted, and how rows of ours are told from others there."""

from collections.abc import Mapping
from dataclasses import dataclass, field

TAG = "kilonova:"
KEY, OWNER, PARENT, GROUPS = "kilonova:key", "kilonova:owner", "kilonova:parent", "kilonova:groups"
"""Entries of `external_ids`. A row with KEY was made here, and goes when nothing here explains it. GROUPS names the
port groups that a switch port was put into.
"""

Value = str | int | bool | tuple[str, ...] | tuple[bool, ...] | Mapping[str, str]
"""A column's value: tuples are sets, and columns that may be empty."""
Columns = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class NorthboundRow:
    """A wanted row. `key` names it among all rows of ours, `owner` is the network, port, security group or router that
    it is there for: what is compared at once is all rows of an owner.

    `parent` is the key of the row that has this one in its `column`; empty for rows that stand by themselves.
    `references` are columns that name a row of somebody else's, by its key. `groups` are the keys of the port groups
    that a switch port is in.
    """

    table: str
    key: str
    owner: str
    columns: Columns
    parent: str = ""
    column: str = ""
    references: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[str, ...] = ()

    @property
    def external_ids(self) -> dict[str, str]:
        """The whole column."""
        ids = {KEY: self.key, OWNER: self.owner}
        if self.parent:
            ids[PARENT] = self.parent
        if self.groups:
            ids[GROUPS] = " ".join(sorted(self.groups))
        return ids


def network_key(network_id: str) -> str:
    """Owner and key of a network's switch."""
    return f"network:{network_id}"


def port_key(port_id: str) -> str:
    """Owner of a guest's port; key of any switch port that stands for a port of ours."""
    return f"port:{port_id}"


def group_key(group_id: str) -> str:
    """Owner and key of a security group's port group."""
    return f"group:{group_id}"


def router_key(router_id: str) -> str:
    """Owner and key of a router."""
    return f"router:{router_id}"


def dhcp_key(subnet_id: str) -> str:
    """Key of what DHCP says in a subnet."""
    return f"dhcp:{subnet_id}"


DROP = "group:drop"
"""Owner and key of the port group that all guarded ports are in."""
