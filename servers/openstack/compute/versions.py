"""The microversions that this API speaks, and what each of them changes here."""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.openstack.microversions import HEADER, Microversions

LEGACY_HEADER = "X-OpenStack-Nova-API-Version"


class NovaMicroversions(Microversions):
    """Nova's have a header of their own, older than the one that all services share; tools still send it alone."""

    def minor_of(self, headers: Mapping[str, str]) -> int:
        """The header of all services counts where it names this one, else Nova's own."""
        shared = headers.get(HEADER, "")
        is_named = any(part.split()[:1] == [self.service_type] for part in shared.lower().split(","))
        legacy = headers.get(LEGACY_HEADER)
        return self.minor_asked_for(shared if is_named or not legacy else f"{self.service_type} {legacy.strip()}")

    def answer_headers(self, minor: int) -> dict[str, str]:
        """Both headers, whichever was sent."""
        said = super().answer_headers(minor)
        return {**said, LEGACY_HEADER: self.text(minor), "Vary": f"{HEADER}, {LEGACY_HEADER}"}

    def unreadable(self, asked: str) -> str:
        """As Nova's clients know it."""
        return f"API Version String {asked:.80} is of invalid format. Must be of format MajorNum.MinorNum."

    def not_served(self, asked: str) -> str:
        """Clients read the range from it."""
        lowest, highest = self.text(self.min_minor), self.text(self.max_minor)
        return f"Version {asked:.80} is not supported by the API. Minimum is {lowest} and maximum is {highest}."


@dataclass(frozen=True, slots=True)
class VersionStep:
    """What one microversion changes, as a sentence for people who read the table in docs/openstack-clients.md."""

    minor: int
    change: str


STEPS: tuple[VersionStep, ...] = tuple(
    VersionStep(minor, change)
    for minor, change in (
        (1, "The first version; what a request gets that asks for none."),
        (2, "Key pairs have a type, and are created with 201 and deleted with 204."),
        (
            3,
            "Administrators see more of a server: host name, kernel, reservation, user data; volumes say if they stay.",
        ),
        (4, "Reserved fixed addresses: proxies of Nova's own networks, which are absent."),
        (5, "Everybody may filter servers by an IPv6 address."),
        (6, "`remote-consoles` instead of one action for each kind of console."),
        (7, "Access to a flavor is given only where the flavor is not public."),
        (8, "MKS consoles can be asked for; no driver here has one."),
        (9, "A server says whether it is `locked`."),
        (10, "Administrators manage key pairs of other users."),
        (11, "A service says whether it was `forced_down`."),
        (12, "Networks of virtual interfaces: a proxy, which is absent."),
        (13, "Server groups name project and user."),
        (14, "`evacuate` takes no `onSharedStorage`."),
        (15, "Server groups with soft affinity and soft anti-affinity."),
        (16, "A server says how its host is: `host_status`, to administrators."),
        (17, "`trigger_crash_dump`."),
        (18, "The project's id may be left out of paths; here it may in each version."),
        (19, "A server has a `description`."),
        (20, "Volumes are attached to and detached from shelved servers."),
        (21, "Actions of deleted servers can be read."),
        (22, "A live migration is forced to its end."),
        (23, "Migrations of a server have a list of their own."),
        (24, "A live migration is aborted."),
        (25, "`os-migrateLive` takes `auto` for `block_migration`, and no `disk_over_commit`."),
        (26, "Servers have tags, and are listed by them."),
        (27, "The header `OpenStack-API-Version`; here it counts in each version."),
        (28, "`cpu_info` of a hypervisor is an object."),
        (29, "`evacuate` has `force`; a host that is named is checked."),
        (30, "`os-migrateLive` has `force`; a host that is named is checked."),
        (31, "Tokens of consoles of each kind can be read."),
        (32, "Networks and disks of a new server have a `tag`."),
        (33, "Hypervisors are listed in pages."),
        (34, "What a live migration needs is checked after the answer."),
        (35, "Key pairs are listed in pages."),
        (36, "The proxies of images, networks and volumes are gone."),
        (37, "`networks` is `auto`, `none` or a list, and must be there."),
        (38, "A list by a status that there is not is 400."),
        (39, "The proxy of image metadata is gone."),
        (40, "Usage is listed in pages."),
        (41, "Aggregates have a `uuid`."),
        (42, "Tags of disks and networks come with the last mile: as in 2.32."),
        (43, "`os-hosts` is gone."),
        (44, "Actions of fixed and floating addresses are gone."),
        (45, "`createImage` and `createBackup` answer with `image_id`."),
        (46, "Each answer has the header `x-openstack-request-id`; here in each version."),
        (47, "A server shows its flavor as it was when it was made."),
        (48, "Diagnostics of one form for all drivers."),
        (49, "Interfaces and volumes are attached with a `tag`."),
        (50, "Quota classes have server groups."),
        (51, "The event `volume-extended`; everybody sees the events of actions."),
        (52, "A server is made with `tags`."),
        (53, "Services and hypervisors are named by uuids."),
        (54, "`rebuild` takes `key_name`."),
        (55, "Flavors have a `description`."),
        (56, "`migrate` takes a `host`."),
        (57, "`personality` is gone; `rebuild` takes `user_data`."),
        (58, "Actions of a server are listed in pages and by time."),
        (59, "Migrations are listed in pages, with uuids."),
        (60, "Volumes of several servers at once."),
        (61, "Flavors show their extra specs."),
        (62, "Events of actions name the host: its hash to everybody, its name to administrators."),
        (63, "`trusted_image_certificates`."),
        (64, "Server groups have one `policy` with `rules`."),
        (65, "A live migration is aborted while it waits."),
        (66, "`changes-before`."),
        (67, "`volume_type` of a disk that is made."),
        (68, "`evacuate` and `os-migrateLive` have no `force`."),
        (69, "What a cell that is down would say is left out of lists; here cells share one database, so nothing is."),
        (70, "Attachments show their tag."),
        (71, "A server shows its server group."),
        (72, "A server with ports that ask Placement for bandwidth."),
        (73, "`lock` takes a reason, which the server shows; lists by `locked`."),
        (74, "`host` and `hypervisor_hostname` of a new server."),
        (75, "Unknown parameters of queries are 400; answers of changes show all that a server shows."),
        (76, "The event `power-update`."),
        (77, "`unshelve` takes an `availability_zone`."),
        (78, "The NUMA topology of a server."),
        (79, "A volume is attached with `delete_on_termination`."),
        (80, "Migrations name project and user."),
        (81, "Images of an aggregate are brought to its hosts before they are needed."),
        (82, "The event `accelerator-request-bound`."),
        (83, "Everybody may list by more of a server's fields."),
        (84, "Events of actions have `details`."),
        (85, "`delete_on_termination` of an attachment is changed."),
        (86, "Extra specs are checked when they are written."),
        (87, "A server that boots from a volume is rescued."),
        (88, "Statistics of hypervisors are gone; `uptime` stands in the hypervisor."),
        (89, "Attachments show their ids, and none of the volume."),
        (90, "A server has a `hostname`, which can be changed."),
        (91, "`unshelve` takes a `host`, and a zone of null."),
        (92, "Key pairs are imported, never made."),
        (93, "A server that boots from a volume is rebuilt."),
        (94, "A `hostname` may have a domain."),
        (95, "What was evacuated stays off."),
        (96, "A server shows the zone that it is bound to: `pinned_availability_zone`."),
        (97, "Shares of a server: there are none, and none is attached."),
        (98, "A server shows the properties of its image."),
        (99, "`spice-direct` consoles can be asked for; no driver here has one."),
        (100, "A server shows its scheduler hints."),
    )
)
"""One for each version, in their order."""

VERSIONS = NovaMicroversions("compute", major=2, min_minor=1, max_minor=STEPS[-1].minor)
MIN_VERSION, MAX_VERSION = VERSIONS.text(VERSIONS.min_minor), VERSIONS.text(VERSIONS.max_minor)
