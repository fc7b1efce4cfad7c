"""Forms of pages as calls: which call each makes, and what of the form stands under which name in its body."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.forms import ValidationError

from controlplane.dashboard.api_calls.calls import HIDDEN, ApiCall
from controlplane.dashboard.api_calls.network_readers import (
    NEW_PORT,
    PORT,
    external_network,
    first_resource_request,
    first_tags,
    gateway,
    name_servers,
    network_tags,
    of_new_subnet,
    of_subnet,
    other_project,
    resource_request,
    routes,
)
from controlplane.dashboard.api_calls.sent import Reader, Sent
from controlplane.dashboard.api_calls.sent import text_of as _text
from controlplane.dashboard.identity.projects import QUOTAS
from controlplane.dashboard.instances.disk_fields import VOLUME, block_devices_of
from controlplane.dashboard.instances.file_fields import paths_filled_in
from controlplane.dashboard.instances.forms import words_of
from controlplane.dashboard.instances.interface_fields import interface_rows, networks_asked
from controlplane.dashboard.metadata_lines import metadata_of_lines


def texts(*names: str) -> Reader:
    """Texts as they are; empty ones are left out."""
    return lambda sent: {name: text for name in names if (text := _text(sent, name))}


def changed_texts(*names: str) -> Reader:
    """Texts as they are, the empty ones too: they empty what was there."""
    return lambda sent: {name: _text(sent, name) for name in names}


def numbers(*names: str) -> Reader:
    """Whole numbers; what is none is left out."""

    def read(sent: Sent) -> dict[str, Any]:
        found = {name: _text(sent, name).strip() for name in names}
        return {name: int(text) for name, text in found.items() if text.removeprefix("-").isdecimal()}

    return read


def flags(*names: str) -> Reader:
    """Boxes."""
    return lambda sent: {name: bool(_text(sent, name)) for name in names}


def secrets(*names: str) -> Reader:
    """What nobody writes into a line: only that there is something."""
    return lambda sent: {name: HIDDEN for name in names if _text(sent, name)}


def lines_of_pairs(name: str) -> Reader:
    """Lines of key = value as an object."""

    def read(sent: Sent) -> dict[str, Any]:
        try:
            return {name: metadata_of_lines(_text(sent, name))}
        except ValidationError:
            return {}

    return read


def _specs(sent: Sent) -> dict[str, Any]:
    pairs = zip(sent.get("spec_key", []), sent.get("spec_value", []), strict=False)
    found = {key.strip(): value.strip() for key, value in pairs if key.strip()}
    return {"extra_specs": found} if found or "spec_key" in sent else {}


def _properties(sent: Sent) -> dict[str, Any]:
    """The editor of an image's properties is that of extra specs."""
    return {"properties": specs} if (specs := _specs(sent).get("extra_specs")) is not None else {}


def _import_from(sent: Sent) -> dict[str, Any]:
    found = {name: text for name in ("url", "checksum", "checksum_url") if (text := _text(sent, f"import_{name}"))}
    return {"import_from": found} if found else {}


def _group_rules(sent: Sent) -> dict[str, Any]:
    limit = numbers("max_server_per_host")(sent)
    return {"rules": limit} if limit else {}


def _tags(sent: Sent) -> dict[str, Any]:
    return {"tags": words_of(_text(sent, "tags"))}


def _volume_source(sent: Sent) -> dict[str, Any]:
    kind, _, source = _text(sent, "source").partition(":")
    return {kind: source} if source else {}


def _of_an_instance(sent: Sent) -> dict[str, Any]:
    """What the create form asks for besides plain texts."""
    found: dict[str, Any] = {}
    if script := _text(sent, "user_data"):
        found["user_data"] = base64.b64encode(script.replace("\r\n", "\n").encode()).decode()
    if group := _text(sent, "group"):
        found["hints"] = {"group": group}
    rows = [row.asked for row in interface_rows(sent)]
    if networks := networks_asked(_text(sent, "network_choice"), sent.get("networks", []), rows):
        found["networks"] = networks
    if groups := [one for one in sent.get("security_groups", []) if one]:
        found["security_groups"] = groups
    if tags := words_of(_text(sent, "tags")):
        found["tags"] = tags
    if _text(sent, "without_config_drive"):
        found["config_drive"] = False
    return found | _boot(sent)


def _more_of_an_instance(sent: Sent) -> dict[str, Any]:
    """What it asks for more rarely. What files hold is as secret as a password."""
    found: dict[str, Any] = {}
    if metadata := lines_of_pairs("metadata")(sent).get("metadata"):
        found["metadata"] = metadata
    if certificates := [one for one in sent.get("trusted_image_certificates", []) if one]:
        found["trusted_image_certificates"] = certificates
    if paths := paths_filled_in(sent):
        found["personality"] = [{"path": path, "contents": HIDDEN} for path in paths]
    if _text(sent, "protected"):
        found["protected"] = True
    return found


def _boot(sent: Sent) -> dict[str, Any]:
    said: dict[str, Any] = {
        name: _text(sent, name) for name in ("boot_from", "boot_volume_type", "image", "boot_stays")
    }
    said |= {"boot_size_gib": numbers("boot_size_gib")(sent).get("boot_size_gib")}
    disks = block_devices_of(said | {"more_volumes": sent.get("more_volumes", [])}, 1)
    image = {} if said["boot_from"].startswith(VOLUME) else texts("image")(sent)
    return image | ({"block_device_mapping_v2": disks} if disks else {})


def _arguments(sent: Sent) -> dict[str, Any]:
    """Of an instance's action: whatever its form has."""
    own = {name: _text(sent, name) for name in sent if name not in NOT_SENT}
    return {name: HIDDEN if "pass" in name else text for name, text in own.items() if text}


NOT_SENT = frozenset({"csrfmiddlewaretoken", "as_curl_of"})
_FLAVOR = (
    texts("name", "description"),
    numbers("vcpus", "memory_mib", "root_gib", "ephemeral_gib", "swap_mib"),
    flags("is_public", "disabled"),
    _specs,
)
_IMAGE = (
    texts("name", "visibility", "disk_format"),
    numbers("min_disk_gib", "min_ram_mib"),
    flags("protected"),
    _properties,
)
_PROJECT = (texts("name", "description"), flags("enabled"), numbers(*QUOTAS))
_USER = (texts("username", "email"), secrets("password"), flags("is_active"))
_NETWORK_SWITCHES = ("is_shared", "is_external", "is_default")


@dataclass(frozen=True, slots=True)
class FormCall:
    """`path` has the names of the page's address in braces; `arguments` are what of them stands in the body, by field.
    A call that `needs` a field is not made without it.
    """

    method: str
    path: str
    readers: tuple[Reader, ...] = ()
    for_admins: tuple[Reader, ...] = ()
    about: str = ""
    needs: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)

    def call(self, sent: Sent, kwargs: Mapping[str, Any], *, is_admin: bool) -> ApiCall:
        """The call for what the form holds."""
        body: dict[str, Any] = {name: str(kwargs[argument]) for name, argument in self.arguments.items()}
        for reader in (*self.readers, *(self.for_admins if is_admin else ())):
            body |= reader(sent)
        return ApiCall(self.method, self.path.format(**kwargs), body if self.readers else None, self.about)


FORM_CALLS: Mapping[str, tuple[FormCall, ...]] = {
    "instance-create": (
        FormCall(
            "POST",
            "/instances/",
            (
                texts("name", "flavor", "availability_zone", "key_name", "description", "hostname", "batch"),
                texts("access_ip_v4", "access_ip_v6", "disk_config"),
                numbers("min_count", "max_count"),
                secrets("admin_pass"),
                _of_an_instance,
                _more_of_an_instance,
            ),
            (texts("host", "hypervisor_hostname"),),
        ),
    ),
    "instance-edit": (
        FormCall(
            "PATCH",
            "/instances/{instance_id}/",
            (changed_texts("name", "hostname", "description"), lines_of_pairs("metadata"), _tags),
        ),
    ),
    "instance-act-form": (FormCall("POST", "/instances/{instance_id}/actions/", (_arguments,)),),
    "instance-again": (FormCall("POST", "/instances/{instance_id}/schedule-again/"),),
    "instance-reset": (FormCall("POST", "/instances/{instance_id}/reset-state/", (texts("state", "reason"),)),),
    "instance-delete": (FormCall("DELETE", "/instances/{instance_id}/"),),
    "flavor-new": (FormCall("POST", "/flavors/", _FLAVOR),),
    "flavor-edit": (FormCall("PATCH", "/flavors/{flavor_id}/", (changed_texts("description"), *_FLAVOR)),),
    "image-new": (FormCall("POST", "/images/", (*_IMAGE, _import_from)),),
    "image-edit": (FormCall("PATCH", "/images/{image_id}/", _IMAGE),),
    "keypair-new": (FormCall("POST", "/keypairs/", (texts("name", "public_key"),)),),
    "server-group-new": (FormCall("POST", "/server-groups/", (texts("name", "policy"), _group_rules)),),
    "network-new": (
        FormCall(
            "POST",
            "/networks/",
            (texts("name", "description"), first_tags),
            (texts("kind", "physical_network"), flags(*_NETWORK_SWITCHES)),
            about="The network",
        ),
        FormCall(
            "POST",
            "/subnets/",
            (
                lambda _sent: {"network": "ID-OF-THE-NETWORK"},
                texts("cidr", "ipv6_mode"),
                gateway,
                flags("has_dhcp"),
                name_servers,
            ),
            about="Its subnet, with the id that the first call gave",
            needs="cidr",
        ),
    ),
    "network-edit": (
        FormCall(
            "PATCH",
            "/networks/{network_id}/",
            (
                changed_texts("name", "description"),
                network_tags,
                numbers("mtu"),
                flags("is_enabled", "has_port_security"),
            ),
            (flags(*_NETWORK_SWITCHES),),
        ),
    ),
    "router-new": (
        FormCall(
            "POST",
            "/routers/",
            (texts("name", "description"), external_network, flags("has_snat", "is_enabled"), first_tags),
        ),
    ),
    "router-edit": (
        FormCall(
            "PATCH",
            "/routers/{router_id}/",
            (
                changed_texts("name", "description"),
                external_network,
                flags("has_snat", "is_enabled"),
                routes,
                network_tags,
            ),
        ),
    ),
    "security-group-new": (FormCall("POST", "/security-groups/", (texts("name", "description"), first_tags)),),
    "security-group-edit": (
        FormCall("PATCH", "/security-groups/{group_id}/", (changed_texts("name", "description"), network_tags)),
    ),
    "subnet-new": (
        FormCall(
            "POST",
            "/subnets/",
            (texts("cidr", "name", "description", "ipv6_mode"), of_new_subnet, flags("has_dhcp"), first_tags),
            arguments={"network": "network_id"},
        ),
    ),
    "router-move": (FormCall("POST", "/routers/{router_id}/move/", (texts("host"),)),),
    "subnet-edit": (
        FormCall(
            "PATCH",
            "/subnets/{subnet_id}/",
            (changed_texts("name", "description"), of_subnet, flags("has_dhcp"), routes, network_tags),
        ),
    ),
    "port-new": (
        FormCall(
            "POST",
            "/ports/",
            (texts("network", "name", "description", "mac", "vnic_type"), *NEW_PORT, flags("is_enabled")),
            (other_project, first_resource_request),
        ),
    ),
    "port-edit": (
        FormCall(
            "PATCH",
            "/ports/{port_id}/",
            (changed_texts("name", "description"), *PORT, flags("has_security", "is_enabled")),
            (texts("mac"), resource_request),
        ),
    ),
    "floating-ip-tags": (FormCall("PATCH", "/floating-ips/{floating_ip_id}/", (network_tags,)),),
    "volume-new": (
        FormCall(
            "POST",
            "/volumes/",
            (texts("name", "description", "volume_type", "pool"), numbers("size_gib"), _volume_source),
        ),
    ),
    "volume-edit": (
        FormCall(
            "PATCH",
            "/volumes/{volume_id}/",
            (
                changed_texts("name", "description"),
                lines_of_pairs("metadata"),
                flags("is_bootable", "is_read_only"),
            ),
        ),
    ),
    "volume-snapshot-edit": (
        FormCall(
            "PATCH",
            "/volume-snapshots/{snapshot_id}/",
            (changed_texts("name", "description"), lines_of_pairs("metadata")),
        ),
    ),
    "volume-backup-edit": (FormCall("PATCH", "/volume-backups/{backup_id}/", (changed_texts("name", "description"),)),),
    "volume-backup-restore": (FormCall("POST", "/volume-backups/{backup_id}/restore/", (texts("volume"),)),),
    "project-new": (FormCall("POST", "/projects/", _PROJECT),),
    "project-edit": (FormCall("PATCH", "/projects/{project_id}/", (changed_texts("description"), *_PROJECT)),),
    "user-group-new": (FormCall("POST", "/groups/", (texts("name", "description"),)),),
    "user-group-edit": (FormCall("PATCH", "/groups/{user_group_id}/", (changed_texts("name", "description"),)),),
    "user-new": (FormCall("POST", "/users/", _USER),),
    "user-edit": (FormCall("PATCH", "/users/{user_id}/", (changed_texts("email"), *_USER)),),
}
"""By the name of the form's address."""


def form_calls(url_name: str, kwargs: Mapping[str, Any], sent: Sent, *, is_admin: bool) -> list[ApiCall]:
    """What a form asks for, as it is filled in now; nothing for one that no call does."""
    asked = [one for one in FORM_CALLS.get(url_name, ()) if not one.needs or _text(sent, one.needs)]
    calls = [one.call(sent, kwargs, is_admin=is_admin) for one in asked]
    if url_name == "instance-act-form":
        # The action's name stands in the page's address.
        return [replace(one, body={"action": kwargs["action"], **(one.body or {})}) for one in calls]
    if url_name == "instance-delete" and _text(sent, "force"):
        return [replace(one, path=f"{one.path}?force=1") for one in calls]
    return calls


def sent_of_form(form: Any) -> Sent:
    """What a form holds before anybody typed, or as it was sent."""
    rows: Sent = getattr(form, "rows_filled_in", {})
    return {**{name: _values(form[name].value()) for name in form.fields}, **rows}


def _values(value: Any) -> list[str]:
    match value:
        case None | False | "":
            return []
        case True:
            return ["on"]
        case list() | tuple():
            return [str(one) for one in value]
        case _:
            return [str(value)]
