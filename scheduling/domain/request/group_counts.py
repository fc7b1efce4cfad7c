"""The key under which members of a server group count on a provider, in claims and wherever claims are made good."""

from uuid import UUID


def group_count_key(group_uuid: UUID | str) -> str:
    """Of `placement.domain.CountLimit`: who carries it holds something there for this group."""
    return f"group:{group_uuid}"
