"""A client of an S3-compatible store, and what its errors mean here.

botocore is what boto3 and the AWS command line rest on: the one kept library whose multipart uploads can be listed and
aborted by public calls, without boto3's transfer manager, which would hold more of an image in memory than one piece.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _

log = logging.getLogger(__name__)
CONNECT_S = 5.0
READ_S = 60.0
CONNECTIONS = 64
"""Kept in all; each download and each upload uses one."""


@dataclass(frozen=True, slots=True)
class S3Place:
    """A bucket, how to get there, and the prefix that all keys have. Without keys, botocore's own ways to find some
    count: its environment variables, its files, the machine's role.
    """

    bucket: str
    endpoint: str = ""
    region: str = ""
    prefix: str = ""
    is_path_style: bool = True
    ca_file: str = ""
    access_key_id: str = field(default="", repr=False)
    secret_access_key: str = field(default="", repr=False)


@lru_cache(maxsize=8)
def s3_client(place: S3Place) -> Any:
    """One for all threads. Raises Unavailable for settings that cannot work."""
    config = Config(
        connect_timeout=CONNECT_S,
        read_timeout=READ_S,
        max_pool_connections=CONNECTIONS,
        retries={"mode": "standard", "total_max_attempts": 3},
        s3={"addressing_style": "path" if place.is_path_style else "virtual"},
        # Other stores than AWS refuse the checksums that it added later; pieces carry the MD5 that all of them check.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    with s3_errors("reach it"):
        return Session().create_client(
            "s3",
            endpoint_url=place.endpoint or None,
            region_name=place.region or None,
            aws_access_key_id=place.access_key_id or None,
            aws_secret_access_key=place.secret_access_key or None,
            verify=place.ca_file or None,
            config=config,
        )


def s3_code(error: ClientError) -> str:
    """What the store calls the error: NoSuchKey, AccessDenied; a status where it says no more, as to HEAD."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def s3_errors(doing: str) -> Iterator[None]:
    """Whatever goes wrong between here and the store is Unavailable. The log says what; no message of the store is
    repeated, since it may quote what was sent.
    """
    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        log.warning("the S3 store refused to %s: %s (HTTP %s)", doing, s3_code(error), status)
        raise Unavailable(
            _(
                "The image store refused ({s3_code}). Try again later, or ask an administrator.",
                s3_code=s3_code(error)[:40],
            )
        ) from error
    except (BotoCoreError, ValueError) as error:
        log.warning("the S3 store could not %s: %s", doing, type(error).__name__)
        raise Unavailable(_("The image store does not answer. Try again later, or ask an administrator.")) from error
