"""What the rows of lists are called, one and many, and how many of them there are."""

from django.utils.translation import gettext

from controlplane.dashboard.texts import translated
from controlplane.kernel.texts import gettext_noop

NOUNS = (
    (gettext_noop("aggregate"), gettext_noop("aggregates")),
    (gettext_noop("backup"), gettext_noop("backups")),
    (gettext_noop("change"), gettext_noop("changes")),
    (gettext_noop("consumer"), gettext_noop("consumers")),
    (gettext_noop("decision"), gettext_noop("decisions")),
    (gettext_noop("delivery"), gettext_noop("deliveries")),
    (gettext_noop("finding"), gettext_noop("findings")),
    (gettext_noop("flavor"), gettext_noop("flavors")),
    (gettext_noop("floating address"), gettext_noop("floating addresses")),
    (gettext_noop("host"), gettext_noop("hosts")),
    (gettext_noop("image"), gettext_noop("images")),
    (gettext_noop("instance"), gettext_noop("instances")),
    (gettext_noop("item"), gettext_noop("items")),
    (gettext_noop("job"), gettext_noop("jobs")),
    (gettext_noop("key pair"), gettext_noop("key pairs")),
    (gettext_noop("network"), gettext_noop("networks")),
    (gettext_noop("pool"), gettext_noop("pools")),
    (gettext_noop("port"), gettext_noop("ports")),
    (gettext_noop("project"), gettext_noop("projects")),
    (gettext_noop("provider"), gettext_noop("providers")),
    (gettext_noop("ranked host"), gettext_noop("ranked hosts")),
    (gettext_noop("repair"), gettext_noop("repairs")),
    (gettext_noop("request"), gettext_noop("requests")),
    (gettext_noop("router"), gettext_noop("routers")),
    (gettext_noop("row"), gettext_noop("rows")),
    (gettext_noop("security group"), gettext_noop("security groups")),
    (gettext_noop("server group"), gettext_noop("server groups")),
    (gettext_noop("session"), gettext_noop("sessions")),
    (gettext_noop("snapshot"), gettext_noop("snapshots")),
    (gettext_noop("type"), gettext_noop("types")),
    (gettext_noop("user"), gettext_noop("users")),
    (gettext_noop("version"), gettext_noop("versions")),
    (gettext_noop("volume"), gettext_noop("volumes")),
    (gettext_noop("webhook"), gettext_noop("webhooks")),
)
"""The `thing` of every list and of every part with pages, and its plural: here they are marked for translation."""


def things_counted(number: str, things: str, *, is_bounded: bool = False) -> str:
    """'5,000 hosts', '10,000 or more hosts', in the reader's language."""
    text = gettext("%(number)s or more %(things)s") if is_bounded else gettext("%(number)s %(things)s")
    return text % {"number": number, "things": translated(things)}
