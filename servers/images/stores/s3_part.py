"""An upload in pieces as a multipart upload: each piece is a part of its own number, kept by the store until the end.

A part that comes again takes the place of the one before it. What has come is asked of the store each time.
"""

import base64
import hashlib
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from typing import Any

from botocore.exceptions import ClientError

from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from servers.images.stores.s3_client import s3_code, s3_errors

NO_UPLOAD = {"NoSuchUpload", "404"}


class IgnoredCodes(suppress):
    """Passes over errors of the store that have one of these codes, and over no others."""

    def __init__(self, codes: Set[str]) -> None:
        super().__init__(ClientError)
        self._codes = codes

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        """As the base class."""
        return isinstance(error, ClientError) and s3_code(error) in self._codes


@contextmanager
def removed_is_conflict() -> Iterator[None]:
    """An upload that is not there any more is a Conflict."""
    try:
        yield
    except ClientError as error:
        if s3_code(error) not in NO_UPLOAD:
            raise
        raise Conflict(_("The part of this upload was removed.")) from error


def piece_send(client: Any, at: dict[str, str], number: int, data: bytes) -> str:
    """One part, with its MD5, which the store checks. Its ETag."""
    md5 = base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
    with s3_errors("take a piece of an upload"), removed_is_conflict():
        answer = client.upload_part(**at, PartNumber=number, Body=data, ContentMD5=md5)
    return str(answer["ETag"])


class S3Part:
    """See `ResumablePart`. `at` names bucket, key and upload."""

    def __init__(self, client: Any, at: dict[str, str], piece_bytes: int) -> None:
        self._client, self._at, self._piece_bytes = client, at, piece_bytes

    @property
    def handle(self) -> str:
        """See ResumablePart."""
        return self._at["UploadId"]

    def size(self) -> int:
        """See ResumablePart."""
        size = 0
        for number, piece in enumerate(self._pieces(), 1):
            if piece["PartNumber"] != number or piece["Size"] != self._piece_bytes:
                break
            size += self._piece_bytes
        return size

    def write(self, offset: int, data: bytes) -> None:
        """See ResumablePart."""
        piece_send(self._client, self._at, offset // self._piece_bytes + 1, data)

    def publish(self, size_bytes: int) -> None:
        """See ResumablePart."""
        pieces = self._pieces()
        found = sum(int(piece["Size"]) for piece in pieces)
        if found != size_bytes:
            raise Conflict(_("{found} of {size_bytes} bytes have come.", found=found, size_bytes=size_bytes))
        parts = [{"PartNumber": piece["PartNumber"], "ETag": piece["ETag"]} for piece in pieces]
        with s3_errors("end an upload"), removed_is_conflict():
            self._client.complete_multipart_upload(**self._at, MultipartUpload={"Parts": parts})

    def remove(self) -> None:
        """See ResumablePart."""
        with s3_errors("abort an upload"), IgnoredCodes(NO_UPLOAD):
            self._client.abort_multipart_upload(**self._at)

    def _pieces(self) -> list[dict[str, Any]]:
        """What has come, in its order. Some stores list a piece that came twice twice; the last one counts."""
        found: list[dict[str, Any]] = []
        with s3_errors("ask for the pieces of an upload"), removed_is_conflict():
            for page in self._client.get_paginator("list_parts").paginate(**self._at):
                found += page.get("Parts", [])
        newest = {int(one["PartNumber"]): one for one in sorted(found, key=lambda one: one["LastModified"])}
        return [newest[number] for number in sorted(newest)]
