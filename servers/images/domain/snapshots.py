"""What an image that is made of an instance takes over from the instance's own image, and what it says of itself."""

from collections.abc import Mapping

IMAGE_TYPE, BACKUP_TYPE = "image_type", "backup_type"
OF_ONE_IMAGE = frozenset(
    {
        # Nova's NON_INHERITABLE_IMAGE_PROPERTIES and the default of its option non_inheritable_image_properties.
        "cinder_encryption_key_id",
        "cinder_encryption_key_deletion_policy",
        "img_signature",
        "img_signature_hash_method",
        "img_signature_key_type",
        "img_signature_certificate_uuid",
        "cache_in_nova",
        "bittorrent",
        "img_cache_in_nova",
        "img_bittorrent",
        # Of the image that this one is made of, where that is a snapshot too.
        IMAGE_TYPE,
        BACKUP_TYPE,
        "instance_uuid",
        "base_image_ref",
        "user_id",
        # Its disks, where those are snapshots of volumes.
        "block_device_mapping",
        "bdm_v2",
        "img_block_device_mapping",
        "img_bdm_v2",
    }
)
"""Properties that are true of one image alone."""


def inherited_properties(properties: object) -> dict[str, str]:
    """Those that a snapshot has too."""
    if not isinstance(properties, Mapping):
        return {}
    return {key: str(value) for key, value in properties.items() if key not in OF_ONE_IMAGE}
