"""Instances by an address that they have."""

import re
from ipaddress import ip_address

from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.db.models.lookups import IContains

from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons
from servers.models import FloatingIP, Instance, IPAllocation, Port

MAX_PATTERN, MAX_REPEATS = 64, 3
_CLASS = r"\[\^?(?:[0-9a-fA-F:.](?:-[0-9a-fA-F:.])?)+\]"
_ATOM = rf"(?:[0-9a-fA-F:]|\\?\.|{_CLASS})"
_ONE = rf"\^?(?:{_ATOM}[*+?]?)+\$?"
_PATTERN = re.compile(rf"{_ONE}(?:\|{_ONE})*")
_PARTS = re.compile(rf"{_ATOM}|[\^$|*+?]")
_IN_QUOTES = {"^": "", "$": '"', ".": '[^"]'}


def pattern_reasons(pattern: str) -> Reasons:
    """Why instances cannot be searched by this pattern.

    What is taken means the same to PostgreSQL and to SQLite. SQLite's matcher goes back to try again, by Python: with
    three repeats it takes at most some ten thousand steps for an address, however the pattern is chosen.
    """
    if len(pattern) > MAX_PATTERN or not _PATTERN.fullmatch(pattern):
        return [
            _(
                "Must be an address, or a regular expression of at most 64 characters: 0-9a-f: and . stand for "
                "themselves or any, [...] is one of several, * + ? repeat what is before them, | is or."
            )
        ]
    if sum(part in "*+?" for part in _PARTS.findall(pattern)) > MAX_REPEATS:
        return [_("Must be a regular expression with at most {most} of * + ?.", most=MAX_REPEATS)]
    try:
        re.compile(pattern)
    except re.error as error:  # a class from high to low
        return [_("Is no regular expression: {error}.", error=error)]
    return []


def _quoted(part: str) -> str:
    """A part of a pattern where the address stands in quotes, which nothing of it passes."""
    return '[^"' + part[2:] if part.startswith("[^") else _IN_QUOTES.get(part, part)


def instances_by_address(rows: QuerySet[Instance], pattern: str, *, version: int) -> QuerySet[Instance]:
    """Those that have an address of this IP version, fixed or floating, that matches from its beginning, as in Nova. A
    whole address is looked up by index.
    """
    try:
        exact = str(ip_address(pattern))
    except ValueError:
        exact = ""
    mark = ":" if version == 6 else "."
    if exact:
        match, text = {"address": exact}, f'"{re.escape(exact)}"'
    else:
        text = "".join(_quoted(part) for part in _PARTS.findall(pattern))
        match, text = {"address__regex": f"^(?:{pattern})"}, f'"(?:{text})'
    allocated = IPAllocation.objects.filter(**match, address__contains=mark, port__instance_uuid__isnull=False)
    standing = FloatingIP.objects.filter(**match, address__contains=mark, port__instance_uuid__isnull=False)
    # Addresses that a hypervisor's own network gave stand with the instance alone. What a host tells of one without a
    # card there is shown nowhere (servers.instances.selectors.interfaces), and not found.
    rows = rows.annotate(leased=Cast("addresses", TextField()))
    cards = Port.objects.filter(instance_uuid=OuterRef("pk"))
    has_lease = Q(Exists(cards.exclude(hypervisor_network=""))) | Q(~Exists(cards), has_default_network=True)
    ours = Q(pk__in=allocated.values("port__instance_uuid")) | Q(pk__in=standing.values("port__instance_uuid"))
    return rows.filter(ours | (has_lease & Q(leased__regex=text, leased__contains=mark)))


def addressed(part: str) -> Q:
    """Instances with a fixed or floating address that begins so."""
    allocated = IPAllocation.objects.filter(address__istartswith=part, port__instance_uuid__isnull=False)
    standing = FloatingIP.objects.filter(address__istartswith=part, port__instance_uuid__isnull=False)
    ours = Q(pk__in=allocated.values("port__instance_uuid")) | Q(pk__in=standing.values("port__instance_uuid"))
    # Addresses that a hypervisor's own network gave stand with the instance alone.
    return ours | Q(IContains(Cast("addresses", TextField()), f'"{part}'))
