"""The directories in an installation's state directory (KILONOVA_STATE): each is named here, and nowhere else."""

from enum import StrEnum


class StatePart(StrEnum):
    """`state_dir / StatePart.LOGS` is one."""

    AGENTS = "agents"
    """What each agent of this machine keeps, by its host."""
    CACHE = "cache"
    HYPERVISORS = "hv"
    IMAGES = "images"
    LOGS = "logs"
    NETWORKS = "networks"
    STATIC = "static"
    VOLUMES = "volumes"
