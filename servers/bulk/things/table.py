"""All kinds of things that bulk jobs can be done to."""

from servers.bulk.domain import BulkKind
from servers.bulk.things.floating_ips import FLOATING_IPS
from servers.bulk.things.hosts import HOSTS
from servers.bulk.things.images import IMAGES
from servers.bulk.things.instances import INSTANCES
from servers.bulk.things.thing import BulkThing
from servers.bulk.things.volumes import VOLUMES
from servers.bulk.things.work import WORK

THINGS: dict[BulkKind, BulkThing] = {
    BulkKind.INSTANCE: INSTANCES,
    BulkKind.HOST: HOSTS,
    BulkKind.VOLUME: VOLUMES,
    BulkKind.IMAGE: IMAGES,
    BulkKind.FLOATING_IP: FLOATING_IPS,
    BulkKind.WORK: WORK,
}
