"""The microversions that this API speaks, and what each of them changes here."""

from dataclasses import dataclass

from controlplane.openstack.microversions import Microversions


@dataclass(frozen=True, slots=True)
class VolumeVersionStep:
    """What one microversion changes, as a sentence for people who read the table in docs/openstack-clients.md."""

    minor: int
    change: str


STEPS: tuple[VolumeVersionStep, ...] = tuple(
    VolumeVersionStep(minor, change)
    for minor, change in (
        (0, "The first version; what a request gets that asks for none."),
        (
            1,
            "`os-volume_upload_image` takes `visibility` and `protected`: those that an upload has here, no others.",
        ),
        (2, "Volumes are listed by `bootable`: true or false; here in each version."),
        (3, "Messages: absent, a volume's `fault` is in the API of the installation."),
        (4, "Volumes are listed by the metadata of their image: absent, and refused."),
        (5, "Pages of messages: absent."),
        (6, "Consistency groups: absent."),
        (7, "Clusters: absent; a service's `cluster` is null."),
        (8, "Volumes and snapshots that are taken over: absent."),
        (9, "Name and description of a backup are changed."),
        (10, "Volumes are listed by group: absent, and refused."),
        (11, "Group types: absent."),
        (12, "`volumes/summary`."),
        (13, "Groups: absent; a volume's `group_id` is null."),
        (14, "Snapshots of groups: absent; a snapshot's `group_snapshot_id` is null."),
        (15, "Metadata with an ETag: absent."),
        (16, "Migration to a host: absent; see `os-retype`."),
        (17, "Clusters of services: absent."),
        (18, "A backup names its project, to administrators."),
        (19, "Snapshots of groups: absent."),
        (20, "Groups: absent."),
        (21, "A volume has `provider_id`, which is null, for administrators."),
        (22, "Snapshots are listed by metadata; here in each version."),
        (23, "A volume is deleted with `force`."),
        (24, "Clean-up of workers: absent, as it happens by itself."),
        (25, "A volume has `group_id`, which is null."),
        (26, "Failover of clusters: absent."),
        (27, "Attachments are listed and shown. They are made and removed by the Compute API."),
        (28, "Pools are listed by name."),
        (29, "Snapshots of groups: absent."),
        (30, "Snapshots are sorted by name; here in each version."),
        (31, "`resource_filters`."),
        (32, "Levels of logs: absent."),
        (33, "What a list cannot be filtered by is 400; here in each version."),
        (34, "Lists by a part of a name: `name~`."),
        (35, "Pools are listed by volume type."),
        (36, "The summary has metadata."),
        (37, "Backups are sorted by name; here in each version."),
        (38, "Replication of groups: absent."),
        (39, "Administrators see the limits of any project."),
        (40, "`revert` to the newest snapshot."),
        (41, "A snapshot names its user."),
        (42, "A volume that an instance has is extended, where its pool can; here in each version."),
        (43, "A backup has metadata, which is empty."),
        (44, "`os-complete` of an attachment: absent, hosts say so themselves."),
        (45, "Lists with `with_count` say how many there are in all."),
        (46, "Volumes of images without bytes: absent, and refused."),
        (47, "A volume is made of a backup."),
        (48, "A volume has `shared_targets`, which is false, and `service_uuid`, which is null."),
        (49, "A service has `backend_state`."),
        (50, "Volumes of types with `multiattach`; here in each version."),
        (51, "A backup's availability zone: absent, and refused."),
        (52, "Types are listed by extra specs."),
        (53, "Unknown fields are 400; here in each version."),
        (54, "The mode of a new attachment: absent."),
        (55, "A transfer says `no_snapshots`; the path `volume-transfers` is there in each version."),
        (56, "A backup names its user."),
        (57, "A transfer names the project that it comes from."),
        (58, "Groups: absent."),
        (59, "Transfers are sorted and come in pages."),
        (60, "Volumes are listed by the time at which they were made or changed."),
        (61, "A volume has `cluster_name`, which is null, for administrators."),
        (62, "A default type for each project: absent."),
        (63, "A volume has `volume_type_id`."),
        (64, "Ids of keys: absent, since keys are in no key manager."),
        (65, "Volumes and snapshots have `consumes_quota`, which is true; lists by it."),
        (66, "Snapshots of volumes that an instance has need no `force`; here in each version."),
        (67, "The project's id may be left out of paths; here it may in each version."),
    )
)
"""One for each version, in their order."""

VERSIONS = Microversions("volume", major=3, min_minor=0, max_minor=STEPS[-1].minor)
MIN_VERSION, MAX_VERSION = VERSIONS.text(VERSIONS.min_minor), VERSIONS.text(VERSIONS.max_minor)
