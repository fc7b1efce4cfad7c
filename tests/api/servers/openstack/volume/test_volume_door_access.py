"""Each route of the Volume API, made from its table, as administrator, member, reader, stranger and nobody."""

import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction

from controlplane.identity.policy import allows
from servers.models import VolumeAttachment
from servers.openstack.volume.access import VERSION_PATHS
from servers.openstack.volume.routes import ROUTES
from servers.openstack.volume.views.backups import BACKUP_ACTIONS
from servers.openstack.volume.views.snapshots import SNAPSHOT_ACTIONS
from servers.openstack.volume.views.types import TYPE_ACTIONS
from servers.openstack.volume.views.volume_actions import VOLUME_ACTIONS
from servers.volumes.domain.states import AttachmentState
from servers.volumes.domain.volume_types import VolumeTypeRequest
from servers.volumes.services.transfers import transfer_create
from servers.volumes.services.types import volume_type_create
from tests.worlds.cloud import People
from tests.worlds.volume_door import VolumeClient, volume_client, volume_cloud
from tests.worlds.volumes import backup_row, snapshot_made, volume_made

pytestmark = pytest.mark.django_db
EVERY = sorted(
    (method, route.template)
    for route in ROUTES.routes
    for method in route.methods
    if route.template not in VERSION_PATHS
)
PERSONS = ("admin", "member", "reader", "stranger")
OF_A_PROJECT = ("{volume_id}", "{snapshot_id}", "{backup_id}", "{transfer_id}", "{attachment_id}")
OF_ANYBODY = {
    ("POST", "/v3/os-volume-transfer/{transfer_id}/accept"),
    ("POST", "/v3/volume-transfers/{transfer_id}/accept"),
}
"""Who is to take a volume knows the offer's id and word."""


@dataclass(frozen=True)
class Place:
    """People, and one of each thing in their project."""

    people: People
    names: dict[str, str]


@pytest.fixture
def place() -> Place:
    people = volume_cloud()
    kind = volume_type_create(request=VolumeTypeRequest(name="own", is_public=False))
    volume, offered = volume_made(people.member, metadata={"key": "value"}), volume_made(people.member)
    attachment = VolumeAttachment.objects.create(
        volume=volume_made(people.member), instance_uuid=uuid.uuid4(), state=AttachmentState.ATTACHED
    )
    names = {
        "volume_id": volume.pk,
        "snapshot_id": snapshot_made(people.member, volume).pk,
        "backup_id": backup_row(volume).pk,
        "transfer_id": transfer_create(caller=people.member, volume_id=offered.pk).transfer.pk,
        "attachment_id": attachment.pk,
        "type_id": kind.pk,
        "target": people.member.project_id.hex,
        "name": "default",
        "key": "key",
        "alias": "backups",
    }
    return Place(people, {name: str(value) for name, value in names.items()})


def test_each_route_is_for_those_whom_its_rule_names(place: Place) -> None:
    """An empty body is judged after who sends it, and after whose thing it is about. What one request changes is taken
    back before the next.
    """
    clients = {name: volume_client(getattr(place.people, name)) for name in PERSONS}
    wrong = []
    for method, template in EVERY:
        endpoint = next(route for route in ROUTES.routes if route.template == template).methods[method]
        path, body = template.format(**place.names), ({} if endpoint.takes else None)
        assert endpoint.access is not None, f"{method} {template} has no rule"
        if VolumeClient().call(method, path, body).status_code != 401:
            wrong.append((method, template, "nobody"))
        for name, client in clients.items():
            with transaction.atomic():
                status = client.call(method, path, body).status_code
                transaction.set_rollback(True)
            may = allows(getattr(place.people, name), endpoint.access.value)
            if not _is_right(status, method, template, name, may=may, has_body=endpoint.takes):
                wrong.append((method, template, f"{name}: {status}"))
    assert wrong == []


def _is_right(status: int, method: str, template: str, name: str, *, may: bool, has_body: bool) -> bool:
    if not may:
        return status == 403
    if name == "stranger" and (method, template) not in OF_ANYBODY and not has_body:
        if "{target}" in template:
            return status == 403
        if any(part in template for part in OF_A_PROJECT):
            return status == 404
    return status < 500 and status not in (401, 403)


FOREIGN = [
    ("PUT", "/volumes/{volume_id}", {"volume": {"name": "mine"}}),
    ("POST", "/volumes/{volume_id}/action", {"os-extend": {"new_size": 9}}),
    ("POST", "/volumes/{volume_id}/metadata", {"metadata": {"a": "b"}}),
    ("PUT", "/volumes/{volume_id}/metadata", {"metadata": {"a": "b"}}),
    ("PUT", "/volumes/{volume_id}/metadata/key", {"meta": {"key": "b"}}),
    ("POST", "/volumes", {"volume": {"source_volid": "{volume_id}"}}),
    ("POST", "/volumes", {"volume": {"snapshot_id": "{snapshot_id}"}}),
    ("POST", "/volumes", {"volume": {"backup_id": "{backup_id}"}}),
    ("POST", "/volumes", {"volume": {"size": 1, "volume_type": "own"}}),
    ("POST", "/snapshots", {"snapshot": {"volume_id": "{volume_id}"}}),
    ("PUT", "/snapshots/{snapshot_id}", {"snapshot": {"name": "mine"}}),
    ("POST", "/snapshots/{snapshot_id}/action", {"os-force_delete": {}}),
    ("POST", "/snapshots/{snapshot_id}/metadata", {"metadata": {"a": "b"}}),
    ("PUT", "/snapshots/{snapshot_id}/metadata", {"metadata": {"a": "b"}}),
    ("PUT", "/snapshots/{snapshot_id}/metadata/key", {"meta": {"key": "b"}}),
    ("POST", "/backups", {"backup": {"volume_id": "{volume_id}"}}),
    ("PUT", "/backups/{backup_id}", {"backup": {"name": "mine"}}),
    ("POST", "/backups/{backup_id}/restore", {"restore": {}}),
    ("POST", "/backups/{backup_id}/action", {"os-force_delete": {}}),
    ("POST", "/os-volume-transfer", {"transfer": {"volume_id": "{volume_id}"}}),
    ("POST", "/volume-transfers", {"transfer": {"volume_id": "{volume_id}"}}),
]


def test_what_belongs_to_another_project_is_not_found(place: Place) -> None:
    stranger = volume_client(place.people.stranger)
    for method, template, body in FOREIGN:
        stranger.fault(method, template.format(**place.names), _filled(body, place.names), status=404)


def test_every_route_that_takes_a_body_of_a_project_is_asked_with_a_good_one() -> None:
    asked = {(method, f"/v3{template}".replace("metadata/key", "metadata/{key}")) for method, template, _ in FOREIGN}
    taking = {
        (method, route.template)
        for route in ROUTES.routes
        for method, endpoint in route.methods.items()
        if endpoint.takes and any(part in route.template for part in OF_A_PROJECT)
    }
    assert taking - asked == OF_ANYBODY


TABLES = {
    "/volumes/{volume_id}/action": VOLUME_ACTIONS,
    "/snapshots/{snapshot_id}/action": SNAPSHOT_ACTIONS,
    "/backups/{backup_id}/action": BACKUP_ACTIONS,
    "/types/{type_id}/action": TYPE_ACTIONS,
}


def test_each_action_is_for_those_whom_its_rule_names(place: Place) -> None:
    for person in ("reader", "member"):
        caller = getattr(place.people, person)
        client = volume_client(caller)
        for path, table in TABLES.items():
            for name, action in table.actions.items():
                with transaction.atomic():
                    status = client.call("POST", f"/v3{path.format(**place.names)}", {name: None}).status_code
                    transaction.set_rollback(True)
                allowed = (200, 400) if allows(caller, action.access.value) else (403, 404)
                assert status in allowed, (name, person, status)


def _filled(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, names) for key, one in value.items()}
    return value.format(**names) if isinstance(value, str) else value
