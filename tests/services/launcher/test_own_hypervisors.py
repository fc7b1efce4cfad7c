"""Hypervisors of the machine that `up` runs on: in by themselves, unless an admin locked them out or removed them."""

from pathlib import Path

import pytest

from computeagent.protocol.wire import secret_digest
from computeagent.transport.secret_file import SecretFile
from controlplane.audit_log.models import AuditLogEntry
from controlplane.kernel.errors import Forbidden
from controlplane.launcher.hypervisors import Hypervisor, hypervisor_enrol
from servers.agent_api.credentials import credential_host, credential_revoke, credential_rotate, enrolment_create
from servers.hosts.services.removal import host_remove
from servers.models import AgentCredential, AgentEnrolment

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hypervisor(tmp_path: Path) -> Hypervisor:
    made = Hypervisor(host="hv-1", uri="fake:///hv-1", state_dir=tmp_path / "hv-1", image_cache=tmp_path)
    hypervisor_enrol(made)
    return made


def whose(hypervisor: Hypervisor) -> str | None:
    return credential_host(secret_digest(str(SecretFile(hypervisor.state_dir).read())))


def test_it_is_let_in_once_which_is_audited(hypervisor: Hypervisor) -> None:
    hypervisor_enrol(hypervisor)
    assert whose(hypervisor) == "hv-1"
    (entry,) = AuditLogEntry.objects.filter(action="host.enrol")
    assert (entry.target_name, entry.user_name) == ("hv-1", "control plane")


def test_another_database_knows_it_by_the_same_secret(hypervisor: Hypervisor) -> None:
    AgentCredential.objects.all().delete()
    hypervisor_enrol(hypervisor)
    assert whose(hypervisor) == "hv-1"


def test_rotated_secret_stays(hypervisor: Hypervisor) -> None:
    secret = SecretFile(hypervisor.state_dir)
    following = secret.next_secret()
    credential_rotate(host="hv-1", old_digest=secret_digest(str(secret.read())), secret_digest=secret_digest(following))
    secret.take(following, keeps_previous=True)
    hypervisor_enrol(hypervisor)
    assert AgentCredential.objects.get().rotated_at is not None


def test_revoked_one_stays_out_until_an_admin_makes_a_token(hypervisor: Hypervisor) -> None:
    enrolment_create(host="hv-1")
    credential_revoke(host="hv-1")
    with pytest.raises(Forbidden, match=r"revoked\. Host hv-1 stays out until an admin lets it in again"):
        hypervisor_enrol(hypervisor)
    assert whose(hypervisor) is None
    enrolment_create(host="hv-1")
    hypervisor_enrol(hypervisor)
    assert whose(hypervisor) == "hv-1"
    assert AgentEnrolment.objects.filter(used_at__isnull=False).count() == 1
    credential_revoke(host="hv-1")
    with pytest.raises(Forbidden):
        hypervisor_enrol(hypervisor)


def test_removed_one_stays_out_until_an_admin_makes_a_token(hypervisor: Hypervisor) -> None:
    host_remove(host="hv-1")
    with pytest.raises(Forbidden, match=r"It was removed\. Host hv-1 stays out"):
        hypervisor_enrol(hypervisor)
    assert whose(hypervisor) is None
    enrolment_create(host="hv-1")
    hypervisor_enrol(hypervisor)
    assert whose(hypervisor) == "hv-1"
