"""Settings of what users own: instances, images, key pairs and server groups, and of what puts drift right."""

from dataclasses import dataclass
from pathlib import Path

from controlplane.infra.conf import options_now
from controlplane.kernel.settings import setting

DIRECTORY, S3 = "directory", "s3"
"""Places for the bytes of images."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Limits are those of Nova's quota defaults unless set."""

    build_deadline_s: float = setting(
        1800.0, "Seconds after which a build that has not ended becomes ERROR.", min_value=10
    )
    deleted_retention_days: float = setting(
        30.0,
        "Days for which a deleted instance, with all that happened to it, and the record of a deleted image are kept; "
        "0: for ever.",
    )
    reclaim_instance_interval_s: float = setting(
        0.0,
        "Seconds for which a deleted instance is only powered off and can be restored, before it is deleted for good; "
        "0: it is deleted at once, and what is soft-deleted then stays until it is restored or force-deleted.",
        min_value=0,
    )
    key_pairs_per_user: int = setting(100, "Key pairs a user may have.", env="QUOTA_KEY_PAIRS")
    server_groups_per_project: int = setting(10, "Server groups a project may have.", env="QUOTA_SERVER_GROUPS")
    server_group_members: int = setting(10, "Instances a server group may have.", env="QUOTA_SERVER_GROUP_MEMBERS")
    quota_recheck: bool = setting(
        True, "Whether a batch that found hosts ends in ERROR if its project is over quota by then."
    )
    image_store: str = setting(
        DIRECTORY,
        "Where uploaded images are kept: in IMAGE_DIR, or in an S3-compatible store, so that several web machines need "
        "no shared disk.",
        choices=(DIRECTORY, S3),
    )
    image_dir: Path = setting(Path("$KILONOVA_STATE/images"), "Directory that holds uploaded images.")
    image_s3_endpoint: str = setting(
        "", "Address of the S3-compatible store, such as https://s3.example.org:9000; empty: AWS, in IMAGE_S3_REGION."
    )
    image_s3_bucket: str = setting("", "Bucket that holds uploaded images. It must exist.")
    image_s3_region: str = setting("", "Region of the bucket, where the store has regions.")
    image_s3_prefix: str = setting("images/", "What the keys of all images begin with.")
    image_s3_path_style: bool = setting(
        True, "Whether the bucket's name stands in the path of addresses; no: it is the first part of the host's name."
    )
    image_s3_ca_file: str = setting("", "File of certificates to trust instead of the system's.")
    image_s3_access_key_id: str = setting(
        "", "Access key of the store. Without one, AWS's own variables, files and machine roles count."
    )
    image_s3_secret_access_key: str = setting("", "Its secret.", is_secret=True)
    image_max_bytes: int = setting(64 * 2**30, "Largest image that may be uploaded.", min_value=1)
    image_reserve_bytes: int = setting(2**30, "Free bytes that uploads leave on the file system of IMAGE_DIR; 0: none.")
    upload_stale_s: float = setting(
        3600.0, "Seconds after which the file of a cut-off image upload is removed.", min_value=1
    )
    image_unknown_days: float = setting(
        7.0,
        "Days after which a whole file of the image store that no image explains (the database was restored from an "
        "older backup) is moved to its directory trash; 0: never.",
    )
    image_downloads: int = setting(
        16,
        "Images that one web process sends to agents at a time, and as many again to users. Who is refused asks again.",
        min_value=1,
    )
    image_downloads_each: int = setting(
        4, "How many of them may go to one host, or to the users of one project.", min_value=1
    )
    orphan_guest_grace_s: float = setting(
        60.0, "Seconds that a guest which no instance explains is listed before its host's agent removes it."
    )
    guest_counters_days: float = setting(
        1.0, "Days for which the counters of guests (CPU, memory, disks, network) are kept.", max_value=31
    )
    drift_grace_s: float = setting(
        60.0,
        "Seconds that other drift between instances, guests and allocations must last before it is put right by "
        "itself.",
    )
    drift_max_findings: int = setting(
        10000,
        "Findings at which one look for drift stops; those are listed, and the page says that there are more.",
        min_value=1,
    )


def server_options() -> ServerOptions:
    """The options as settings have them now."""
    return options_now(ServerOptions)
