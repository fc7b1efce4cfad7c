"""Image bytes as objects of an S3-compatible store: keys `PREFIX<image>.<upload>`, written as multipart uploads.

An object appears when its upload is completed, whole. One that is abandoned is aborted by whoever abandons it or, after
a crash, by the same clean-up that removes parts of files.
"""

import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _
from servers.images.stores.installation import marker_is_ours, marker_text, not_ours
from servers.images.stores.parts import PIECE_BYTES
from servers.images.stores.s3_client import S3Place, s3_client, s3_errors
from servers.images.stores.s3_part import NO_UPLOAD, IgnoredCodes, S3Part, piece_send, removed_is_conflict
from servers.images.stores.store import MARKER, TRASH, BytesName, ImageBytes, StoredBytes, bytes_name_of

MAX_PIECES = 10_000
COPY_BYTES = 2**30
"""Of a copy inside the store, piece by piece; S3 copies at most 5 GiB at once."""
MISSING = {"NoSuchKey", "404", "NotFound"}


def piece_bytes(max_bytes: int) -> int:
    """How large the pieces of an upload are, so that the largest image has few enough of them."""
    return max(PIECE_BYTES, -(-max_bytes // MAX_PIECES))


@dataclass(frozen=True, slots=True)
class S3Store:
    """See `ByteStore`. `max_bytes`: the largest image that will be written."""

    where: S3Place
    max_bytes: int

    @property
    def _client(self) -> Any:
        return s3_client(self.where)

    def _at(self, name: str) -> dict[str, str]:
        return {"Bucket": self.where.bucket, "Key": f"{self.where.prefix}{name}"}

    def claim(self) -> None:
        """See ByteStore."""
        marker = self._marker()
        if marker is None:
            # Of two claims one wins, where the store knows the condition; both look what stands there in the end.
            with s3_errors("write the marker"), IgnoredCodes({"PreconditionFailed", "ConditionalRequestConflict"}):
                self._client.put_object(**self._at(MARKER), Body=marker_text().encode(), IfNoneMatch="*")
            marker = self._marker()
        if not marker_is_ours(marker):
            raise not_ours(f"Bucket {self.where.bucket} at {self.where.prefix or 'its top'}")

    def is_ours(self) -> bool:
        """See ByteStore."""
        return marker_is_ours(self._marker())

    def _marker(self) -> str | None:
        with s3_errors("read the marker"), IgnoredCodes(MISSING):
            body: bytes = self._client.get_object(**self._at(MARKER))["Body"].read(1000)
            return body.decode(errors="replace")
        return None

    def room_check(self, more_bytes: int) -> None:
        """How full it is, is the store's own business: it refuses what it has no room for."""

    def begin(self, name: BytesName) -> "IncomingObject":
        """See ByteStore."""
        with s3_errors("begin an upload"):
            at = self._at(str(name))
            upload_id = self._client.create_multipart_upload(**at)["UploadId"]
        return IncomingObject(self._client, {**at, "UploadId": upload_id}, piece_bytes(self.max_bytes))

    @property
    def piece_bytes(self) -> int:
        """See ByteStore."""
        return piece_bytes(self.max_bytes)

    @property
    def max_upload_bytes(self) -> int:
        """See ByteStore."""
        return MAX_PIECES * self.piece_bytes

    def part_begin(self, name: BytesName) -> S3Part:
        """See ByteStore."""
        with s3_errors("begin an upload"):
            upload_id = self._client.create_multipart_upload(**self._at(str(name)))["UploadId"]
        return self.part_open(name, upload_id)

    def part_open(self, name: BytesName, handle: str) -> S3Part:
        """See ByteStore."""
        return S3Part(self._client, {**self._at(str(name)), "UploadId": handle}, self.piece_bytes)

    def path(self, name: BytesName) -> None:
        """See ByteStore."""

    def open(self, name: BytesName, *, offset: int = 0) -> ImageBytes:
        """See ByteStore."""
        with s3_errors(f"read image {name.image_id}"), IgnoredCodes({"InvalidRange", "416"}):
            answer = self._client.get_object(**self._at(str(name)), **({"Range": f"bytes={offset}-"} if offset else {}))
            return ImageBytes(_Body(answer["Body"]), int(answer["ContentLength"]))
        return ImageBytes(_Body(None), 0)

    def read_at(self, name: BytesName, offset: int, size_bytes: int) -> bytes:
        """See ByteStore."""
        range_asked = f"bytes={offset}-{offset + size_bytes - 1}"
        with s3_errors(f"read image {name.image_id}"), IgnoredCodes({"InvalidRange", "416"}):
            return bytes(self._client.get_object(**self._at(str(name)), Range=range_asked)["Body"].read())
        return b""

    def size(self, name: BytesName) -> int | None:
        """See ByteStore."""
        with s3_errors("look for an image"), IgnoredCodes(MISSING):
            return int(self._client.head_object(**self._at(str(name)))["ContentLength"])
        return None

    def stored(self, image_id: uuid.UUID | None = None) -> Iterator[StoredBytes]:
        """See ByteStore. MinIO lists unfinished uploads by whole keys only; it ends old ones itself."""
        inside = {"Bucket": self.where.bucket, "Prefix": f"{self.where.prefix}{image_id or ''}"}
        with s3_errors("list images"):
            for page in self._client.get_paginator("list_objects_v2").paginate(**inside, Delimiter="/"):
                for found in page.get("Contents", []):
                    if named := self._named(found["Key"]):
                        yield StoredBytes(named, False, found["LastModified"].timestamp(), found["Key"])
            for page in self._client.get_paginator("list_multipart_uploads").paginate(**inside):
                for found in page.get("Uploads", []):
                    named, upload_id = self._named(found["Key"]), found["UploadId"]
                    if named and (modified_at_s := self._grew_at(found)) is not None:
                        yield StoredBytes(named, True, modified_at_s, found["Key"], upload_id)

    def _named(self, key: str) -> BytesName | None:
        found = bytes_name_of(key.removeprefix(self.where.prefix))
        return None if found is None or found[1] else found[0]

    def _grew_at(self, upload: dict[str, Any]) -> float | None:
        """When its last piece came; None when it ended meanwhile. A large image may take hours."""
        grew: float = upload["Initiated"].timestamp()
        with IgnoredCodes(NO_UPLOAD):
            at = {"Bucket": self.where.bucket, "Key": upload["Key"], "UploadId": upload["UploadId"]}
            for page in self._client.get_paginator("list_parts").paginate(**at):
                grew = max([grew, *(piece["LastModified"].timestamp() for piece in page.get("Parts", []))])
            return grew
        return None

    def remove(self, stored: StoredBytes) -> None:
        """See ByteStore."""
        at = {"Bucket": self.where.bucket, "Key": stored.place}
        with s3_errors("remove an image"), IgnoredCodes(MISSING | NO_UPLOAD):
            if stored.is_part:
                self._client.abort_multipart_upload(**at, UploadId=stored.part_id)
            else:
                self._client.delete_object(**at)

    def to_trash(self, stored: StoredBytes) -> None:
        """See ByteStore."""
        size = self.size(stored.name)
        if size is None:
            return
        with s3_errors("move an image to the trash"):
            at: dict[str, Any] = self._at(f"{TRASH}/{stored.name}")
            at["UploadId"] = self._client.create_multipart_upload(**at)["UploadId"]
            source = {"Bucket": self.where.bucket, "Key": stored.place}
            pieces = []
            for number, begin in enumerate(range(0, size, COPY_BYTES), 1):
                end = min(begin + COPY_BYTES, size) - 1
                copied = self._client.upload_part_copy(
                    **at, PartNumber=number, CopySource=source, CopySourceRange=f"bytes={begin}-{end}"
                )
                pieces.append({"PartNumber": number, "ETag": copied["CopyPartResult"]["ETag"]})
            self._client.complete_multipart_upload(**at, MultipartUpload={"Parts": pieces})
        self.remove(stored)


class IncomingObject:
    """See `IncomingBytes`. One piece is in memory; each carries its MD5, which the store checks."""

    def __init__(self, client: Any, at: dict[str, str], size: int) -> None:
        self._client, self._at, self._piece_bytes = client, at, size
        self._buffer = bytearray()
        self._pieces: list[dict[str, Any]] = []
        self._bytes = 0
        self._is_over = False

    def write(self, data: bytes, /) -> None:
        """See IncomingBytes."""
        self._buffer += data
        self._bytes += len(data)
        while len(self._buffer) >= self._piece_bytes:
            self._send(self._piece_bytes)

    def path(self) -> None:
        """See IncomingBytes. There is no file."""

    def publish(self) -> None:
        """See IncomingBytes."""
        if self._buffer:
            self._send(len(self._buffer))
        with s3_errors("end an upload"), removed_is_conflict():
            self._client.complete_multipart_upload(**self._at, MultipartUpload={"Parts": self._pieces})
            self._is_over = True
            at = {name: self._at[name] for name in ("Bucket", "Key")}
            stored = int(self._client.head_object(**at)["ContentLength"])
        if stored != self._bytes:
            raise Unavailable(_("The image store kept {stored} of {bytes} bytes.", stored=stored, bytes=self._bytes))

    def close(self) -> None:
        """See IncomingBytes."""
        self._buffer.clear()
        if self._is_over:
            return
        self._is_over = True
        # Logged, and tried again by the clean-up.
        with suppress(Unavailable), s3_errors("abort an upload"), IgnoredCodes(NO_UPLOAD):
            self._client.abort_multipart_upload(**self._at)

    def _send(self, size: int) -> None:
        piece = self._buffer[:size]
        del self._buffer[:size]
        number = len(self._pieces) + 1
        self._pieces.append({"PartNumber": number, "ETag": piece_send(self._client, self._at, number, bytes(piece))})


class _Body:
    """The body of an answer; None is empty."""

    def __init__(self, body: Any) -> None:
        self._body = body

    def read(self, size: int, /) -> bytes:
        """See ByteSource."""
        if self._body is None:
            return b""
        with s3_errors("go on with an image"):
            piece: bytes = self._body.read(size)
            return piece

    def close(self) -> None:
        """See ByteSource."""
        if self._body is not None:
            self._body.close()
