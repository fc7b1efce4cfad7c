"""The filters of lists of instances over those that have no row yet: what the answer shows of one, a filter finds.

They are the same filters (InstanceFilterSet), asked of a build request that is read like a row: the columns that an
instance has and its request does not are keys of the request's body, under the same names.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import BooleanField, CharField, DateTimeField, F, Func, Q, QuerySet, TextField, Value
from django.db.models.expressions import Combinable
from django.db.models.fields.json import KT, KeyTransform
from django.db.models.functions import Cast, Coalesce

from computeagent.protocol.power import PowerState
from controlplane.identity.selectors.people import project_ids_like, user_ids_like
from controlplane.infra.quick_search import in_json
from servers.filtersets_instance import InstanceFilterSet, OperatorInstanceFilterSet
from servers.models import BuildRequest

BODY = "instance_body"
TEXTS = (
    "name",
    "description",
    "hostname",
    "availability_zone",
    "key_name",
    "vm_state",
    "task_state",
    "image_id",
)
"""Columns of an instance that are texts of a body."""


class BodyMoment(Cast):
    """A moment that a body has as ISO 8601 in UTC, exact to the microsecond."""

    def __init__(self, text: Combinable) -> None:
        super().__init__(text, DateTimeField())

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """As SQLite has moments: a text with a space, without a zone. A cast there would know milliseconds alone."""
        template = "REPLACE(REPLACE(%(expressions)s, 'T', ' '), '+00:00', '')"
        return super(Cast, self).as_sql(compiler, connection, template=template, **extra)


class HasTag(Func):
    """Whether the tags of a body have this one."""

    output_field = BooleanField()

    def __init__(self, tag: str) -> None:
        super().__init__(KeyTransform("tags", BODY), Value(tag, CharField()))

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Of its elements."""
        return super().as_sql(compiler, connection, function="jsonb_exists", **extra)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Of its elements."""
        template, joiner = "EXISTS (SELECT 1 FROM json_each(%(expressions)s)", ") WHERE value = "
        return super().as_sql(compiler, connection, template=template, arg_joiner=joiner, **extra)


class _OverRequests(InstanceFilterSet):
    """What is asked in another way where an instance is read from its request."""

    places: ClassVar[Mapping[str, str]] = {
        "created_after": "shown_created_at",
        "created_before": "shown_created_at",
        "request_id": "shown_request_id",
        "reservation_id": "shown_reservation_id",
    }
    search_ids = ("instance_uuid",)
    search_requests = ("shown_request_id",)

    def __init__(self, data: Any, *, queryset: QuerySet[BuildRequest]) -> None:
        super().__init__(data, queryset=_like_rows(queryset))
        for name, place in self.places.items():
            self.filters[name].field_name = place
        self.filters["tag"].method = self.by_tag

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """In its own columns and in what hangs on it, as the document shows it."""
        found = super(InstanceFilterSet, cls).condition_of(word)
        found |= Q(flavor__name__icontains=word) | Q(image__name__icontains=word) | in_json("known_tags", word)
        return found | Q(user_id__in=user_ids_like(word))

    def by_tag(self, rows: QuerySet[BuildRequest], _name: str, value: str) -> QuerySet[BuildRequest]:
        """One of them."""
        return rows.filter(HasTag(value))

    def by_ipv4(self, rows: QuerySet[Any], _name: str, _value: str) -> QuerySet[Any]:
        """It shows no cards before it has a host."""
        return rows.none()

    def by_ipv6(self, rows: QuerySet[Any], _name: str, _value: str) -> QuerySet[Any]:
        """It shows no cards before it has a host."""
        return rows.none()


class _OperatorOverRequests(_OverRequests, OperatorInstanceFilterSet):
    """The same for operators: one that has no row has no host."""

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by its project."""
        return _OverRequests.condition_of(word) | Q(project_id__in=project_ids_like(word))


def pending_matching(
    rows: QuerySet[BuildRequest], asked: Mapping[str, str], *, is_admin: bool
) -> QuerySet[BuildRequest]:
    """Those of these requests whose instances the filters let through. None where a value cannot be read, which the
    same filters say of the rows.
    """
    found = (_OperatorOverRequests if is_admin else _OverRequests)(asked, queryset=rows)
    return found.qs if found.is_valid() else rows.none()


def _like_rows(rows: QuerySet[BuildRequest]) -> QuerySet[BuildRequest]:
    """With the columns that rows of instances have, as far as they are filtered or searched."""
    texts = {name: _text(name) for name in TEXTS}
    parts = {name: KeyTransform(name, BODY) for name in ("flavor", "image", "metadata")}
    return rows.alias(
        **texts,
        **parts,
        known_tags=KeyTransform("tags", BODY),
        power_state=Value(PowerState.NOSTATE.value, TextField()),
        host=Value("", TextField()),
        shown_request_id=_text("request_id"),
        shown_reservation_id=_text("reservation_id"),
        shown_created_at=Coalesce(BodyMoment(KT(f"{BODY}__created_at")), F("created_at")),
    )


def _text(name: str) -> Cast:
    """A key's value as a text like any: lookups of keys compare JSON."""
    return Cast(KT(f"{BODY}__{name}"), TextField())
