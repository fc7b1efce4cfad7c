"""Hints: "this changed, look again", for pages that are open. They say what, never how it is now.

A hint is told after the commit. Lost, late or doubled, it changes nothing: a page that hears none looks by itself, more
seldom. So nothing waits for a hint to be told, and nothing is told that a reader would need a right to read.
"""

from controlplane.work.hints.changed import changed
from controlplane.work.hints.topics import (
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

__all__ = [
    "HOSTS",
    "INSTANCES",
    "VOLUMES",
    "WORK",
    "changed",
    "host_topic",
    "instance_topic",
    "project_topic",
    "project_volumes_topic",
    "volume_topic",
]
