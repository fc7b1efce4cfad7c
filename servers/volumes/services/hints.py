"""Open pages look again once something of volumes is committed."""

from controlplane.work.hints import VOLUMES, changed, project_volumes_topic, volume_topic
from servers.models import Volume


def volumes_changed(*volumes: Volume) -> None:
    """Tell pages that these volumes, or what hangs on them, changed. It costs no statement."""
    topics = {VOLUMES}
    for volume in volumes:
        topics |= {volume_topic(volume.pk), project_volumes_topic(volume.project_id)}
    changed(*topics)
