"""The bytes of an image, streamed both ways."""

from controlplane.openstack.answers import Empty
from controlplane.openstack.faults import ApiFault, bad_request
from servers.images.downloads import OCTETS, ImageResponse, user_downloads
from servers.images.request_body import body_stream
from servers.images.services.image_store import READABLE, image_chunks, image_upload
from servers.images.stores.store import beginning_of
from servers.images.uploads import upload_places
from servers.openstack.call import ServersCall
from servers.openstack.image.byte_range import byte_range
from servers.openstack.image.image_json import md5_of
from servers.openstack.image.lookups import image_found, image_named
from servers.openstack.image.query_words import whole_number
from servers.openstack.image.stores import STORE_HEADER, stores_check

SIZE_HEADER = "X-OpenStack-Image-Size"


def file_upload(call: ServersCall, image_id: str) -> Empty:
    """Takes the bytes, checks them and makes the image active. 429 while too many are being sent."""
    headers = call.request.headers
    if (call.request.content_type or "").lower() != OCTETS:
        raise ApiFault(415, f"The media type {call.request.content_type or 'None'} is not supported, use {OCTETS}.")
    if store := headers.get(STORE_HEADER):
        stores_check([store])
    stream, declared = body_stream(call.request)
    if SIZE_HEADER in headers:
        said = whole_number(SIZE_HEADER, headers[SIZE_HEADER])
        if declared not in (None, said):
            raise bad_request(f"{SIZE_HEADER} says {said} bytes, and Content-Length {declared}.")
        declared = said
    image = image_named(image_id)
    with upload_places().held(project=str(call.caller.own_project_id), image_id=image):
        image_upload(caller=call.caller, image_id=image, stream=stream, declared_bytes=declared)
    return call.empty()


def file_download(call: ServersCall, image_id: str) -> ImageResponse | Empty:
    """The bytes or a range of them; nothing of an image that has none. 429 while too many are being sent."""
    caller = call.caller
    image = image_found(caller, image_id)
    if image.status not in READABLE or image.upload_id is None:
        return call.empty()
    asked = call.request.headers.get("Range")
    first, length = byte_range(asked, image.size_bytes) if asked else (0, image.size_bytes)
    response = user_downloads().response(
        str(caller.own_project_id),
        lambda: beginning_of(image_chunks(image.pk, caller=caller, offset=first), length),
    )
    if asked:
        response.status_code = 206
        response["Content-Range"] = f"bytes {first}-{first + length - 1}/{image.size_bytes}"
    elif md5 := md5_of(image):
        response["Content-MD5"] = md5
    response["Accept-Ranges"] = "bytes"
    return response
