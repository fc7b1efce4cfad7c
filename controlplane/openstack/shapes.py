"""What answers of several doors hold."""

from typing import TypedDict


class LinkJson(TypedDict):
    rel: str
    href: str


class MediaType(TypedDict):
    base: str
    type: str
