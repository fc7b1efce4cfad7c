"""The table of access rules: each thing that may be done at any door, who may do it unless an operator says otherwise,
and what it is.

A role is enough in the caller's own project; that a thing belongs to the project is the business of the selector that
fetches it. `admin` reaches every project. Who has a role may do what the lower ones may: admin, manager, member,
reader. `service` stands apart: programs of the installation have it, and do what names it.

Whoever calls in the system is in no project: a second column says which roles there are enough. A reader in the system
reads what administrators read, and an admin in the system does what they do, but for what acts in the caller's project.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from controlplane.identity.domain.caller import Caller
from controlplane.identity.domain.role import Role
from controlplane.kernel.texts import gettext_noop


@dataclass(frozen=True, slots=True)
class AccessRule:
    """One rule: any one of the roles `who` is enough in a project, and any one of `in_system` in the system. Where the
    latter has none, the rule is of what acts in a project.
    """

    name: str
    who: frozenset[Role]
    in_system: frozenset[Role]
    description: str

    @property
    def words(self) -> list[str]:
        """The roles in a project as a policy file names them, the least powerful first."""
        return [role.value for role in sorted(self.who)]

    @property
    def system_words(self) -> list[str]:
        """The roles in the system, likewise."""
        return [role.value for role in sorted(self.in_system)]

    @property
    def is_default(self) -> bool:
        """Whether it is as the table has it."""
        default = DEFAULT_RULES[self.name]
        return (self.who, self.in_system) == (default.who, default.in_system)

    def needed(self, caller: Caller) -> frozenset[Role]:
        """The roles of which one is enough where the caller acts."""
        return self.in_system if caller.is_of_system else self.who

    def permits(self, caller: Caller) -> bool:
        """Whether the caller may."""
        return any(held.includes(needed) for held in caller.roles for needed in self.needed(caller))


@dataclass(frozen=True, slots=True)
class RuleRoles:
    """What a policy file says of a rule: the roles that are enough in a project, and in the system."""

    who: frozenset[Role]
    in_system: frozenset[Role]


READERS = frozenset({Role.READER})
MEMBERS = frozenset({Role.MEMBER})
MANAGERS = frozenset({Role.MANAGER})
ADMINS = frozenset({Role.ADMIN})
ADMINS_AND_SERVICES = frozenset({Role.ADMIN, Role.SERVICE})
ANYBODY = frozenset({Role.READER, Role.SERVICE})
"""Whoever has a role."""
IN_A_PROJECT: frozenset[Role] = frozenset()
"""Of the system: nobody, since it acts in the caller's project."""

_TABLE: tuple[tuple[str, frozenset[Role], frozenset[Role], str], ...] = (
    # What a project owns.
    (
        "instances:read",
        READERS,
        READERS,
        gettext_noop("See instances of the project, with their actions, console log and counters."),
    ),
    ("instances:read_all", ADMINS, READERS, gettext_noop("See instances of every project.")),
    ("instances:create", MEMBERS, IN_A_PROJECT, gettext_noop("Create instances, and schedule them again.")),
    (
        "instances:create:attach_external_network",
        ADMINS,
        IN_A_PROJECT,
        gettext_noop("Put an instance on an external network directly."),
    ),
    ("instances:create:forced_host", ADMINS, IN_A_PROJECT, gettext_noop("Name the host or node past the scheduler.")),
    (
        "instances:create:requested_destination",
        ADMINS,
        IN_A_PROJECT,
        gettext_noop("Name the host or node that the scheduler has to judge."),
    ),
    (
        "instances:create:trusted_certs",
        MEMBERS,
        IN_A_PROJECT,
        gettext_noop("Name certificates that an image must be signed by."),
    ),
    (
        "instances:create:zero_disk_flavor",
        ADMINS,
        IN_A_PROJECT,
        gettext_noop("Create instances without a volume of a flavor that has no disk."),
    ),
    ("instances:delete", MEMBERS, ADMINS, gettext_noop("Delete and restore instances.")),
    (
        "instances:act",
        MEMBERS,
        ADMINS,
        gettext_noop("Start, stop, reboot, pause, suspend, shelve, rescue, resize, snapshot, attach and detach."),
    ),
    ("instances:shelve_offload", ADMINS, ADMINS, gettext_noop("Take a shelved instance off its host at once.")),
    ("instances:migrate", MANAGERS, ADMINS, gettext_noop("Migrate an instance, cold or live.")),
    ("migrations:read", MANAGERS, READERS, gettext_noop("See migrations of instances of the project.")),
    ("instances:move", ADMINS, ADMINS, gettext_noop("Evacuate an instance, and choose where one moves to.")),
    ("instances:rebuild", MEMBERS, ADMINS, gettext_noop("Rebuild instances.")),
    (
        "instances:rebuild:trusted_certs",
        MEMBERS,
        ADMINS,
        gettext_noop("Name certificates that the image of a rebuild must be signed by."),
    ),
    ("instances:update", MEMBERS, ADMINS, gettext_noop("Change name, description, metadata and tags.")),
    ("instances:reset_state", ADMINS, ADMINS, gettext_noop("Set the state of an instance by hand.")),
    ("instances:protect", MEMBERS, ADMINS, gettext_noop("Protect instances from deletion.")),
    ("instances:lock", MEMBERS, ADMINS, gettext_noop("Lock instances.")),
    ("instances:unlock", MEMBERS, ADMINS, gettext_noop("Unlock what one's own project locked.")),
    ("instances:unlock:override", ADMINS, ADMINS, gettext_noop("Unlock what an administrator locked.")),
    ("instances:console", READERS, IN_A_PROJECT, gettext_noop("Look at consoles.")),
    ("instances:guest_password", READERS, ADMINS, gettext_noop("Read the encrypted password of a guest.")),
    ("instances:guest_password:clear", MEMBERS, ADMINS, gettext_noop("Remove it.")),
    ("instances:console:write", MEMBERS, IN_A_PROJECT, gettext_noop("Type into consoles.")),
    ("instances:diagnostics", ADMINS, ADMINS, gettext_noop("Read what a hypervisor knows of a guest.")),
    ("bulk_jobs:read", READERS, READERS, gettext_noop("See jobs that change many things at once.")),
    ("bulk_jobs:write", MEMBERS, IN_A_PROJECT, gettext_noop("Start and cancel them.")),
    ("keypairs:read", READERS, READERS, gettext_noop("See one's own key pairs.")),
    ("keypairs:write", MEMBERS, ADMINS, gettext_noop("Make, import and delete them.")),
    ("server_groups:read", READERS, READERS, gettext_noop("See server groups of the project.")),
    ("server_groups:write", MEMBERS, ADMINS, gettext_noop("Make and delete server groups.")),
    ("security_groups:read", READERS, READERS, gettext_noop("See security groups and their rules.")),
    ("security_groups:write", MEMBERS, ADMINS, gettext_noop("Make, change and delete them.")),
    ("routers:read", READERS, READERS, gettext_noop("See routers of the project.")),
    ("routers:write", MEMBERS, ADMINS, gettext_noop("Make, change and delete routers.")),
    ("routers:move", ADMINS, ADMINS, gettext_noop("Move a router to another host.")),
    ("floating_ips:read", READERS, READERS, gettext_noop("See floating addresses of the project.")),
    ("floating_ips:write", MEMBERS, ADMINS, gettext_noop("Take, point and give back floating addresses.")),
    ("reachability:read", READERS, READERS, gettext_noop("Ask why one thing does not reach another.")),
    ("volumes:read", READERS, READERS, gettext_noop("See volumes of the project.")),
    ("volumes:write", MEMBERS, ADMINS, gettext_noop("Make, change, attach and delete volumes.")),
    ("volumes:choose_pool", ADMINS, ADMINS, gettext_noop("Name the pool that a volume is made in.")),
    ("volumes:reset_state", ADMINS, ADMINS, gettext_noop("Set the state of a volume, snapshot or backup by hand.")),
    (
        "volumes:force_delete",
        ADMINS,
        ADMINS,
        gettext_noop("Delete a volume, snapshot or backup whatever state it is in."),
    ),
    ("volume_snapshots:read", READERS, READERS, gettext_noop("See snapshots of volumes.")),
    ("volume_snapshots:write", MEMBERS, ADMINS, gettext_noop("Make, change and delete them.")),
    ("volume_transfers:read", READERS, READERS, gettext_noop("See transfers of volumes between projects.")),
    ("volume_transfers:write", MEMBERS, ADMINS, gettext_noop("Offer, accept and take back.")),
    ("volume_backups:read", READERS, READERS, gettext_noop("See backups of volumes.")),
    ("volume_backups:write", MEMBERS, ADMINS, gettext_noop("Make, restore and delete them.")),
    ("quotas:read", READERS, READERS, gettext_noop("See limits and use of the project.")),
    (
        "decisions:read",
        READERS,
        READERS,
        gettext_noop("See how hosts were chosen for instances of the project, without naming hosts."),
    ),
    ("decisions:read_all", ADMINS, READERS, gettext_noop("See every decision, with hosts.")),
    ("schedule:simulate", READERS, IN_A_PROJECT, gettext_noop("Try a request without making anything.")),
    ("schedule:simulate:edits", ADMINS, IN_A_PROJECT, gettext_noop("Try it in a changed fleet or by another policy.")),
    ("schedule:explain", READERS, ADMINS, gettext_noop("Ask why a request does not fit.")),
    ("schedule:explain:host", ADMINS, ADMINS, gettext_noop("Ask it of one host.")),
    # What all projects choose from.
    ("flavors:read", READERS, READERS, gettext_noop("See flavors.")),
    ("flavors:write", ADMINS, ADMINS, gettext_noop("Make, change and delete flavors, their extra specs and access.")),
    ("device_profiles:read", READERS, READERS, gettext_noop("See device profiles.")),
    ("device_profiles:write", ADMINS, ADMINS, gettext_noop("Make, change and delete them.")),
    ("images:read", READERS, READERS, gettext_noop("See and download images.")),
    ("images:write", MEMBERS, ADMINS, gettext_noop("Make, upload, share, change and delete images of the project.")),
    ("image_certificates:read", READERS, READERS, gettext_noop("See certificates that sign images.")),
    ("image_certificates:write", MEMBERS, ADMINS, gettext_noop("Add and remove them.")),
    ("images:publish", ADMINS, ADMINS, gettext_noop("Make images public, and switch them off and on.")),
    ("availability_zones:read", READERS, READERS, gettext_noop("See availability zones.")),
    ("zones:read", READERS, READERS, gettext_noop("See zones with their hosts' state in numbers.")),
    ("networks:read", READERS, READERS, gettext_noop("See networks and subnets.")),
    ("networks:write", MEMBERS, ADMINS, gettext_noop("Make, change and delete networks and subnets.")),
    ("ports:read", READERS, READERS, gettext_noop("See ports of the project.")),
    ("ports:write", MEMBERS, ADMINS, gettext_noop("Make, change and delete ports.")),
    ("placement:names", READERS, READERS, gettext_noop("See names of traits and resource classes.")),
    ("volume_types:read", READERS, READERS, gettext_noop("See volume types.")),
    ("volume_types:write", ADMINS, ADMINS, gettext_noop("Make, change and delete them, with access and encryption.")),
    # The installation.
    ("aggregates:read", ADMINS, READERS, gettext_noop("See aggregates.")),
    ("aggregates:write", ADMINS, ADMINS, gettext_noop("Make, change and delete aggregates.")),
    ("capacity:read", ADMINS, READERS, gettext_noop("See how much more fits.")),
    ("cells:read", ADMINS, READERS, gettext_noop("See cells.")),
    ("cells:write", ADMINS, ADMINS, gettext_noop("Make and delete cells.")),
    ("drift:read", ADMINS, READERS, gettext_noop("See what differs between rows and hosts.")),
    ("drift:write", ADMINS, ADMINS, gettext_noop("Mend or pass over it.")),
    ("heals:read", ADMINS, READERS, gettext_noop("See what the control plane mended by itself.")),
    ("hosts:read", ADMINS, READERS, gettext_noop("See hosts, hypervisors and services.")),
    ("hosts:write", ADMINS, ADMINS, gettext_noop("Add, enable, disable, force down and remove hosts.")),
    (
        "server_events:create",
        ADMINS_AND_SERVICES,
        ADMINS_AND_SERVICES,
        gettext_noop("Tell of changes outside: os-server-external-events."),
    ),
    (
        "placement:read",
        ADMINS_AND_SERVICES,
        ANYBODY,
        gettext_noop("Read Placement: providers, inventories, allocations, usages, candidates."),
    ),
    ("placement:write", ADMINS_AND_SERVICES, ADMINS_AND_SERVICES, gettext_noop("Write Placement.")),
    (
        "placement:usages",
        ADMINS_AND_SERVICES,
        ANYBODY,
        gettext_noop("Read what each project uses; readers read their own project's."),
    ),
    (
        "placement:reshape",
        ADMINS_AND_SERVICES,
        ADMINS_AND_SERVICES,
        gettext_noop("Move inventories and allocations in one step: `/reshaper`."),
    ),
    ("storage_pools:read", ADMINS, READERS, gettext_noop("See storage pools.")),
    ("storage_pools:write", ADMINS, ADMINS, gettext_noop("Make, change and delete storage pools.")),
    ("policies:read", ADMINS, READERS, gettext_noop("See scheduler policies.")),
    ("policies:write", ADMINS, ADMINS, gettext_noop("Make and activate scheduler policies.")),
    ("audit_log:read", MEMBERS, READERS, gettext_noop("See who changed what in the project.")),
    ("audit_log:read_all", ADMINS, READERS, gettext_noop("See it for the whole installation.")),
    ("settings:read", ADMINS, READERS, gettext_noop("See settings.")),
    ("access_rules:read", ADMINS, READERS, gettext_noop("See these rules as they are in force.")),
    ("webhooks:read", ADMINS, READERS, gettext_noop("See webhooks and deliveries.")),
    ("webhooks:write", ADMINS, ADMINS, gettext_noop("Make, change and delete webhooks.")),
    ("work:read", ADMINS, READERS, gettext_noop("See background work.")),
    ("work:write", ADMINS, ADMINS, gettext_noop("Repeat and cancel background work.")),
    ("overview:read", ANYBODY, ANYBODY, gettext_noop("See the overview.")),
    # Identity itself.
    ("me:read", ANYBODY, ANYBODY, gettext_noop("See one's own account.")),
    ("me:write", ANYBODY, ANYBODY, gettext_noop("Change one's own password, second factor and time zone.")),
    ("tokens:read", ANYBODY, ANYBODY, gettext_noop("See one's own tokens.")),
    ("tokens:issue", ANYBODY, ANYBODY, gettext_noop("Make tokens for oneself.")),
    ("tokens:validate", ADMINS_AND_SERVICES, ANYBODY, gettext_noop("See what a token of somebody else says.")),
    ("tokens:revoke", ANYBODY, ANYBODY, gettext_noop("End one's own tokens.")),
    ("application_credentials:read", ANYBODY, ANYBODY, gettext_noop("See one's own application credentials.")),
    (
        "application_credentials:write",
        ANYBODY,
        IN_A_PROJECT,
        gettext_noop("Make and delete one's own application credentials."),
    ),
    ("saved_views:read", ANYBODY, IN_A_PROJECT, gettext_noop("See saved views of lists.")),
    ("saved_views:write", ANYBODY, IN_A_PROJECT, gettext_noop("Make, change and delete one's own.")),
    ("saved_views:share", MEMBERS, IN_A_PROJECT, gettext_noop("Share a view with the project.")),
    ("saved_views:share_all", ADMINS, IN_A_PROJECT, gettext_noop("Share a view with everybody.")),
    ("quota_classes:read", READERS, READERS, gettext_noop("See default limits.")),
    ("quota_classes:write", ADMINS, ADMINS, gettext_noop("Change default limits.")),
    ("user_quotas:read", ADMINS, READERS, gettext_noop("See limits of users in a project.")),
    ("user_quotas:write", ADMINS, ADMINS, gettext_noop("Change limits of projects and users.")),
    ("projects:read", ADMINS, READERS, gettext_noop("See every project.")),
    ("projects:write", ADMINS, ADMINS, gettext_noop("Make, change and delete projects.")),
    ("users:read", ADMINS, READERS, gettext_noop("See every user.")),
    (
        "users:write",
        ADMINS,
        ADMINS,
        gettext_noop("Make, change and delete users, and end their tokens and credentials."),
    ),
    ("groups:read", ADMINS, READERS, gettext_noop("See groups of users, their members and roles.")),
    ("groups:write", ADMINS, ADMINS, gettext_noop("Make, change, fill and delete groups of users.")),
    ("roles:read", ADMINS, READERS, gettext_noop("See who has which role where.")),
    ("roles:write", ADMINS, ADMINS, gettext_noop("Give and take roles.")),
)

DEFAULT_RULES: Mapping[str, AccessRule] = MappingProxyType({row[0]: AccessRule(*row) for row in _TABLE})
"""By name."""
