"""Instances by an address that they have."""

import re
from ipaddress import ip_address

from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.db.models.lookups import IContains

from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons
from servers.models import FloatingIP, Instance, IPAllocation, Port

MAX_PATTERN = 64
_PATTERN = re.compile(r"[0-9a-fA-F:.^$*+?\[\]|\-]+")


def pattern_reasons(pattern: str) -> Reasons:
    """Why instances cannot be searched by this pattern. Neither groups nor classes by name are in it, so that no search
    takes longer than the addresses are many.
    """
    if len(pattern) > MAX_PATTERN or not _PATTERN.fullmatch(pattern):
        return [_("Must be an address, or a regular expression of at most 64 of the characters 0-9a-f:.^$*+?[]|-.")]
    try:
        re.compile(pattern)
    except re.error as error:
        return [_("Is no regular expression: {error}.", error=error)]
    return []


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
        bare = pattern.removeprefix("^")
        match, text = {"address__regex": f"^(?:{bare})"}, '"(?:' + bare.replace("^", "").replace("$", '"') + ")"
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
