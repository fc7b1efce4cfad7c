"""Volumes as images of a Ceph pool."""

from computeagent.volumes.rbd.backend import RbdBackend
from computeagent.volumes.rbd.place import RbdPlace

__all__ = ["RbdBackend", "RbdPlace"]
