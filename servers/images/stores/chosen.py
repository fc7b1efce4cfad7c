"""The places that the settings name."""

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _
from controlplane.kernel.texts import sentences
from servers.conf import S3, ServerOptions, server_options
from servers.images.stores.directory import DirectoryStore
from servers.images.stores.store import ByteStore


def byte_store() -> ByteStore:
    """Where images are kept: IMAGE_STORE says which of the places."""
    return store_named(server_options().image_store)


def store_named(name: str) -> ByteStore:
    """One of the places, whether images are kept there or moved from or to it. Raises Unavailable that names what
    is not set.
    """
    options = server_options()
    if name != S3:
        return DirectoryStore(options.image_dir, options.image_reserve_bytes)
    if problems := s3_problems(options):
        raise Unavailable(_("The image store is not set up. {problems}", problems=sentences(problems)))
    from servers.images.stores.s3 import S3Store  # noqa: PLC0415 - 40 MiB, for those that use it
    from servers.images.stores.s3_client import S3Place  # noqa: PLC0415

    place = S3Place(
        bucket=options.image_s3_bucket,
        endpoint=options.image_s3_endpoint,
        region=options.image_s3_region,
        prefix=options.image_s3_prefix,
        is_path_style=options.image_s3_path_style,
        ca_file=options.image_s3_ca_file,
        access_key_id=options.image_s3_access_key_id,
        secret_access_key=options.image_s3_secret_access_key,
    )
    return S3Store(place, options.image_max_bytes)


def s3_problems(options: ServerOptions) -> list[str]:
    """What is missing or wrong in the settings of the S3 store, each as a sentence."""
    found = []
    if not options.image_s3_bucket:
        found.append(_("IMAGE_S3_BUCKET is not set."))
    if bool(options.image_s3_access_key_id) != bool(options.image_s3_secret_access_key):
        found.append(_("IMAGE_S3_ACCESS_KEY_ID and IMAGE_S3_SECRET_ACCESS_KEY are set together or not at all."))
    if options.image_s3_endpoint and not options.image_s3_endpoint.startswith(("http://", "https://")):
        found.append(_("IMAGE_S3_ENDPOINT must begin with http:// or https://."))
    if not (options.image_s3_endpoint or options.image_s3_region):
        found.append(_("IMAGE_S3_ENDPOINT or IMAGE_S3_REGION must be set."))
    return found
