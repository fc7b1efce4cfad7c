"""`manage.py access_rules_document`: writes docs/access-rules.md from the table of access rules."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.identity.policy import DEFAULT_RULES
from controlplane.settings import env

DOCUMENT = Path("docs/access-rules.md")

INTRODUCTION = """\
# Access rules

<!-- Written by `manage.py access_rules_document`; edit controlplane/identity/domain/access_rules.py, not this page. -->

Who may do what stands in one table. Every door asks it: the pages, `/api/` and the [OpenStack
doors](openstack-clients.md), whose route tables name the rule of each method.

| role | what it is for |
| --- | --- |
| `reader` | sees what the project has |
| `member` | also makes, changes and deletes it |
| `manager` | also does in the project what needs more trust |
| `admin` | the operator's: everything, in the whole installation, in whichever project it is held |
| `service` | for programs of the installation: Placement, events of servers. No role includes it, and it none |

Who has one of the first four may do what those above it may. A superuser is `admin` everywhere. A role counts in the
project in which it is held; that a thing belongs to that project is looked at apart, and no rule changes it.

Roles are given to users, and to groups of users: who is in a group has its roles, and has them no longer from the next
request on once the membership or the role ends. Groups are made and filled on *Groups* under *Identity*, by
[`/api/groups/`](api.md#groups-and-roles-in-the-system), and by [`/v3/groups`](openstack-clients.md#people).

## Roles in the system

A role can also be held in the system: in the installation as a whole, and in no project. It counts for tokens of the
system (`--os-system-scope all`), at `/api/` and at the OpenStack doors; pages are worked with in a project.

- A `reader` in the system reads what administrators read: all projects, hosts, Placement, users and their roles. It
  changes nothing. `member` and `manager` in the system may no more.
- An `admin` in the system does what an administrator does, but for what acts in the caller's own project, which is
  none: to create instances, to start a bulk job, to open a console, to make an application credential. That is
  refused with the code `project_needed`; so is a list of "the project's" things that is not asked for all projects
  (`--all-projects`), and a volume or network that names no project.
- A `service` in the system does what services do.
- A superuser is `admin` in the system too.

## Other roles for a rule

`POLICY_FILE` names a YAML or JSON file that says it:

    # networks are for managers, and a monitoring program may read diagnostics
    networks:write: [manager]
    instances:diagnostics: [reader, service]

A rule that the file names is for its roles alone (and those that include them); every other rule stays as below.
Readers in the system keep it where the file names `system_reader` beside the roles; admins in the system may what any
role but `service` may.
There is no more to its grammar: no conditions, no names of users. It is read when a process starts, and a rule or
role that does not exist, a rule that stands twice, or a rule without a role, stops the process with a sentence that
names it. All web processes need the same file.

*Access rules* under *Identity* and `GET /api/access-rules/` show what is in force. Pages offer buttons by role
(`member` and above, `admin`), so that one may be shown whose request a stricter rule refuses. Giving operators' rules
(those of `admin` below) to other roles makes these operators in that respect, for all projects.

## How this differs from Nova and Keystone

What managers and services may was compared rule by rule with the defaults that Nova and Keystone have in their
code. These differ on purpose, and so does what is beside them:

- Nova and Placement refuse every token of the system. Here they serve it, as above, so that one reader can look after
  the whole installation without a role in any project.
- The console log of an instance is for readers, who may also watch its console without typing; in Nova both are for
  members, since one rule there covers to watch and to type.
- The audit log, decisions, drift and the like are not in Nova. What it decides by one rule for each field or filter of
  a list (hosts, deleted servers, all projects) is one rule here: `instances:read_all` and being an administrator.
- A manager lists migrations without their hosts, as in Nova; there is no live migration to abort or to force yet.
- `service` writes Placement and tells of events, as there. `os-assisted-volume-snapshots` and swaps of volumes, which
  Nova also gives to it, are not here.
- Keystone lets an administrator of a domain act in it; there is one domain, so that would be an administrator.
- In Keystone an application credential may be used to end any token of its user. Here its tokens end only those that
  were got by the same credential.

## The rules

| rule | who may | in the system | what |
| --- | --- | --- | --- |
"""


class Command(BaseCommand):
    """Writes the page; with --check it compares, and ends with status 1 when the page is not up to date."""

    help = __doc__
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """See --help."""
        parser.add_argument("--check", action="store_true", help="write nothing, compare")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write or compare."""
        page, text = env.BASE_DIR / DOCUMENT, access_rules_document()
        if not options["check"]:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            raise CommandError(f"{DOCUMENT} is out of date: run manage.py access_rules_document")


def access_rules_document() -> str:
    """The page: the rules as they are without a file, whatever this process was started with."""
    rows = (
        f"| `{rule.name}` | {', '.join(rule.words)} | {', '.join(rule.system_words) or '-'} | {rule.description} |\n"
        for rule in DEFAULT_RULES.values()
    )
    return INTRODUCTION + "".join(rows)
