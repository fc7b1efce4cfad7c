"""What a host is told of its guests for their metadata service: signed, its own guests alone, and only what changed."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from computeagent.metadata.store import DocumentStore
from computeagent.protocol.metadata import GuestDocument, GuestDocuments
from computeagent.protocol.networks import NetworkBackendKind
from controlplane.identity.models import Project
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Forbidden, Invalid, NotFound
from servers.agent_api import conductor_connect
from servers.agent_api.guest_documents import MAX_DOCUMENTS, guest_documents
from servers.instances.services.guest_password import (
    guest_password_clear,
    guest_password_read,
    guest_password_store,
)
from servers.instances.services.update import instance_update
from servers.models import GuestPassword, HostNetworkState, Instance, Network, Port
from tests.worlds import cloud
from tests.worlds import networks as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> cloud.People:
    return cloud.cloud("h1", "h2")


@pytest.fixture
def net() -> Network:
    return world.network("blue", mtu=1400)


def placed(net: Network, host: str = "h1", project: uuid.UUID | None = None, **fields: Any) -> tuple[Instance, Port]:
    """An instance on the host, with a port."""
    made = Instance.objects.create(
        project_id=project or uuid.uuid4(), user_id=uuid.uuid4(), name="web-1", hostname="web-1", host=host,
        flavor={"name": "small"}, flavor_id=uuid.uuid4(), vcpus=2, memory_mib=512, vm_state="active",
        launched_at=now_plus(0), **fields,
    )  # fmt: skip
    return made, world.port(net, host, instance_uuid=made.pk)


def kept(given: GuestDocuments, tmp_path: Path, host: str = "h1") -> DocumentStore:
    """As the host keeps it: by the signature, and for itself alone."""
    store = DocumentStore(tmp_path / uuid.uuid4().hex, host)
    store.open()
    store.take(given)
    return store


def document(net: Network, port: Port, tmp_path: Path, host: str = "h1") -> GuestDocument:
    found = kept(guest_documents(host=host, known={}), tmp_path, host).of_address(str(net.pk), port.addresses[0])
    assert found is not None
    return found


def test_host_without_such_guests_has_no_documents() -> None:
    found = guest_documents(host="h1", known={})
    assert (found.instances, found.documents, found.is_complete) == ((), (), True)


def test_document_has_all_that_the_guest_reads(net: Network, tmp_path: Path) -> None:
    project = Project.objects.create(name="demo")
    instance, port = placed(net, metadata={"role": "web"}, user_data="aGk=", key_name="k", public_key="ssh-ed25519 A")
    outside = world.network("outside", cidr="198.51.100.0/24", is_external=True)
    floating = world.floating(project, outside, port, world.router(project, "h2", net, external=outside))
    world.PortGroup.objects.create(port=port, group=world.group(project, "web"))
    found = document(net, port, tmp_path)
    guest = found.guest
    assert (guest.uuid, guest.metadata, guest.user_data_base64) == (str(instance.pk), {"role": "web"}, "aGk=")
    assert (guest.public_key, guest.config.hostname) == ("ssh-ed25519 A", "web-1")
    (card,) = guest.ports
    assert (card.network, card.mtu, card.mac, card.kind) == (str(net.pk), 1400, port.mac, NetworkBackendKind.BRIDGE)
    assert [fixed.address for fixed in card.addresses] == port.addresses
    assert [subnet.cidr for subnet in card.subnets] == ["10.20.0.0/16"]
    assert (found.host, found.floating_addresses, found.security_groups) == ("h1", (floating.address,), ("web",))
    assert json.loads(guest.first_boot.vendor_data) == {}
    assert guest.first_boot.admin_password == ""


def test_host_gets_its_own_guests_alone_and_nobody_elses_document_is_good_for_it(net: Network, tmp_path: Path) -> None:
    mine, _ = placed(net)
    placed(net, "h2")
    gone, _ = placed(net)
    Instance.objects.filter(pk=gone.pk).update(deleted_at="2026-01-01T00:00:00Z")
    plain = world.network("plain", kind=NetworkBackendKind.HYPERVISOR)
    placed(plain)
    given = guest_documents(host="h1", known={})
    assert given.instances == (str(mine.pk),)
    assert [one.instance_uuid for one in given.documents] == [str(mine.pk)]
    assert kept(given, tmp_path, "h2").digests() == {}


def test_only_what_the_host_does_not_have_is_sent(net: Network) -> None:
    one, _ = placed(net)
    two, _ = placed(net)
    known = {signed.instance_uuid: signed.digest for signed in guest_documents(host="h1", known={}).documents}
    again = guest_documents(host="h1", known=known)
    assert (set(again.instances), again.documents) == ({str(one.pk), str(two.pk)}, ())
    Instance.objects.filter(pk=one.pk).update(metadata={"a": "b"})
    assert [signed.instance_uuid for signed in guest_documents(host="h1", known=known).documents] == [str(one.pk)]


def test_another_key_or_vendor_data_is_another_document(net: Network, settings: Any, tmp_path: Path) -> None:
    instance, port = placed(net)
    known = {str(instance.pk): guest_documents(host="h1", known={}).documents[0].digest}
    file = tmp_path / "vendor.json"
    file.write_text('{"site": "a"}')
    settings.KILONOVA = {**settings.KILONOVA, "VENDORDATA_JSONFILE_PATH": str(file)}
    (told,) = guest_documents(host="h1", known=known).documents
    settings.SECRET_KEY = "another-" * 8
    assert len(guest_documents(host="h1", known={str(instance.pk): told.digest}).documents) == 1
    assert json.loads(document(net, port, tmp_path).guest.first_boot.vendor_data) == {"site": "a"}


def test_while_first_keys_differ_each_answer_can_be_verified(net: Network, settings: Any, tmp_path: Path) -> None:
    instance, _ = placed(net)
    store = kept(guest_documents(host="h1", known={}), tmp_path)
    old, new = settings.SECRET_KEY, "new-" * 20
    for first, fallback in ((old, new), (new, old), (old, new), (new, old)):
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = first, [fallback]
        store.take(guest_documents(host="h1", known=store.digests()))
        assert store.digests().keys() == {str(instance.pk)}


def test_documents_cost_a_constant_number_of_queries(net: Network) -> None:
    placed(net)

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            guest_documents(host="h1", known={})
        return len(captured)

    few = queries()
    for _ in range(5):
        placed(net)
    assert queries() == few
    assert few <= 10
    with CaptureQueriesContext(connection) as captured:
        guest_documents(host="h9", known={})
    assert len(captured) == 1


def test_one_answer_is_bounded_and_says_that_there_is_more(net: Network) -> None:
    for _ in range(MAX_DOCUMENTS + 3):
        placed(net)
    first = guest_documents(host="h1", known={})
    assert (len(first.documents), first.is_complete) == (MAX_DOCUMENTS, False)
    rest = guest_documents(host="h1", known={one.instance_uuid: one.digest for one in first.documents})
    assert (len(rest.documents), rest.is_complete) == (3, True)


def test_change_of_an_instance_raises_the_revision_of_its_host(who: cloud.People, net: Network) -> None:
    instance, _ = placed(net, project=who.member.project_id)
    without = Instance.objects.create(
        project_id=who.member.project_id, user_id=uuid.uuid4(), name="vm", host="h2", flavor={},
        flavor_id=uuid.uuid4(), vcpus=2, memory_mib=512, vm_state="active", launched_at=now_plus(0),
    )  # fmt: skip
    for each in (instance, without):
        instance_update(caller=who.member, instance_id=each.pk, changes={"metadata": {"role": "db"}})
    assert dict(HostNetworkState.objects.values_list("host", "wanted_revision")) == {"h1": 1}


def test_guests_password_is_kept_once_and_encrypted(who: cloud.People, net: Network, tmp_path: Path) -> None:
    instance, port = placed(net, project=who.member.project_id)
    conductor = conductor_connect()
    for _ in range(2):
        conductor.guest_password(host="h1", instance_uuid=str(instance.pk), password="bm8=")
    with pytest.raises(Conflict):
        guest_password_store(host="h1", instance_uuid=str(instance.pk), password="b3RoZXI=")
    assert "bm8=" not in GuestPassword.objects.get().encrypted
    assert document(net, port, tmp_path).password == "bm8="
    assert guest_password_read(caller=who.member, instance_id=instance.pk) == "bm8="
    guest_password_clear(caller=who.member, instance_id=instance.pk)
    guest_password_clear(caller=who.member, instance_id=instance.pk)
    assert guest_password_read(caller=who.member, instance_id=instance.pk) == ""
    assert document(net, port, tmp_path).password == ""
    assert HostNetworkState.objects.get(host="h1").wanted_revision == 2


@pytest.mark.parametrize("password", ["", "x" * 1021])
def test_what_is_no_password_is_refused(net: Network, password: str) -> None:
    instance, _ = placed(net)
    with pytest.raises(Invalid):
        guest_password_store(host="h1", instance_uuid=str(instance.pk), password=password)


def test_host_tells_the_passwords_of_its_own_guests_alone(net: Network) -> None:
    instance, _ = placed(net)
    for host, name in (("h2", str(instance.pk)), ("h1", str(uuid.uuid4())), ("h1", "x")):
        with pytest.raises(NotFound):
            guest_password_store(host=host, instance_uuid=name, password="bm8=")


def test_password_is_its_projects_and_readers_do_not_clear_it(who: cloud.People, net: Network) -> None:
    instance, _ = placed(net, project=who.member.project_id)
    guest_password_store(host="h1", instance_uuid=str(instance.pk), password="bm8=")
    assert guest_password_read(caller=who.reader, instance_id=instance.pk) == "bm8="
    with pytest.raises(Forbidden):
        guest_password_clear(caller=who.reader, instance_id=instance.pk)
    with pytest.raises(NotFound):
        guest_password_read(caller=who.stranger, instance_id=instance.pk)
    with pytest.raises(NotFound):
        guest_password_clear(caller=who.stranger, instance_id=instance.pk)
