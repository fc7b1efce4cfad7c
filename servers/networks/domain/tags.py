"""Tags of networks, subnets, ports, routers, floating addresses and security groups: Neutron's limits."""

import csv
from collections.abc import Sequence

from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons, name_reasons

TAGS_MAX = 50
TAG_MAX_CHARS = 255


def tags_reasons(tags: Sequence[str]) -> Reasons:
    """At most TAGS_MAX tags of 1 to TAG_MAX_CHARS printable characters."""
    reasons = (
        [_("Has {count} tags; at most {tags_max} are allowed.", count=len(tags), tags_max=TAGS_MAX)]
        if len(tags) > TAGS_MAX
        else []
    )
    for tag in tags[:TAGS_MAX]:
        reasons += [f"Tag {tag!r:.80}: {reason}" for reason in name_reasons(tag, maximum=TAG_MAX_CHARS)]
    return reasons


def tags_text(tags: Sequence[str]) -> str:
    """Tags in one line of a form: with commas between, those in quotes that have a comma or a quote themselves."""
    return ", ".join('"' + tag.replace('"', '""') + '"' if {",", '"'} & set(tag) else tag for tag in tags)


def tags_of_text(text: str) -> list[str]:
    """The tags that such a line names."""
    words = (word.strip() for row in csv.reader(text.splitlines(), skipinitialspace=True) for word in row)
    return [word for word in words if word]
