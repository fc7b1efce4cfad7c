"""What the views of all that has tags share: tags in bodies, and one tag at a time."""

from collections.abc import Callable, Collection
from typing import Any, ClassVar, TypeVar

from django.db.models import Model
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.tags import tag_add, tag_remove, with_tags

ROW = TypeVar("ROW", bound=Model)
ONE_TAG = "tags/(?P<tag>[^/]+)"


class TaggedViewSet(GenericViewSet[Any]):
    """Views of one kind of what has tags; `thing` is its name in sentences. The policy of a view has `tag` and
    `tag_remove`.
    """

    tagged_kind: ClassVar[TaggedKind]
    thing: ClassVar[str]

    def made(self, tags: Collection[str] | None, write: Callable[[], ROW]) -> ROW:
        """A new row with these tags, or none of both."""
        return with_tags(caller=caller_of(self.request), kind=self.tagged_kind, tags=tags, write=write)

    def changed(self, changes: dict[str, Any], write: Callable[[dict[str, Any]], ROW]) -> ROW:
        """The row after `write` of the changes and after its tags have changed; where tags are all that changes,
        nothing else is written, and no host hears of it.
        """
        tags = changes.pop("tags", None)
        is_only_tags = tags is not None and not changes
        return self.made(tags, lambda: self.get_object() if is_only_tags else write(changes))

    @extend_schema(request=None)
    @action(detail=True, methods=["put"], url_path=ONE_TAG)
    def tag(self, request: Request, pk: str, tag: str) -> Response:
        """Puts a tag on it, once."""
        resource_id = uuid_in_path(pk, what=self.thing)
        tag_add(caller=caller_of(request), kind=self.tagged_kind, resource_id=resource_id, tag=tag)
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(responses={204: None})
    @tag.mapping.delete
    def tag_remove(self, request: Request, pk: str, tag: str) -> Response:
        """Takes a tag off; 404 where it has none such."""
        resource_id = uuid_in_path(pk, what=self.thing)
        tag_remove(caller=caller_of(request), kind=self.tagged_kind, resource_id=resource_id, tag=tag)
        return Response(status=status.HTTP_204_NO_CONTENT)
