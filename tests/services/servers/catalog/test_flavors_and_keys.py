import uuid

import pytest

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.kernel.errors import Conflict, Invalid, InvalidFields, NotFound, QuotaExceeded
from servers.catalog.selectors.flavor import flavor_for_instance, flavor_get, flavor_snapshot, flavors_visible
from servers.catalog.selectors.keypair import keypair_for_instance
from servers.catalog.services.flavor import flavor_create, flavor_delete, flavor_update
from servers.catalog.services.keypair import keypair_create, keypair_delete, keypair_generate
from servers.models import Flavor, KeyPair
from servers.networks.domain.networks import NetworkRequest
from servers.networks.services.networks import network_create
from tests.worlds.cloud import people

pytestmark = pytest.mark.django_db
TINY = {"name": "m1.tiny", "vcpus": 1, "memory_mib": 512}


def test_flavor_is_made_as_asked():
    made = flavor_create(**TINY, root_gib=2, extra_specs={"hw:cpu_policy": "shared"})
    row = Flavor.objects.get(pk=made.pk)
    assert (row.name, row.vcpus, row.memory_mib, row.root_gib) == ("m1.tiny", 1, 512, 2)
    assert row.extra_specs == {"hw:cpu_policy": "shared"}


def test_bad_flavor_writes_nothing():
    with pytest.raises(InvalidFields) as refused:
        flavor_create(name="", vcpus=0, memory_mib=-1)
    assert set(refused.value.errors) == {"name", "vcpus", "memory_mib"}
    assert not Flavor.objects.exists()


def test_taken_flavor_name_is_a_conflict():
    flavor_create(**TINY)
    with pytest.raises(Conflict, match=r"m1\.tiny exists already"):
        flavor_create(**TINY)


def test_renaming_to_a_taken_name_is_a_conflict():
    flavor_create(**TINY)
    other = flavor_create(**{**TINY, "name": "other"})
    with pytest.raises(Conflict):
        flavor_update(flavor_id=other.pk, changes={"name": "m1.tiny"})


def test_flavor_keeps_what_was_not_changed():
    made = flavor_create(**TINY)
    changed = flavor_update(flavor_id=made.pk, changes={"extra_specs": {"a": "b"}})
    assert (changed.vcpus, changed.extra_specs) == (1, {"a": "b"})


def test_unknown_field_of_a_flavor_is_refused():
    made = flavor_create(**TINY)
    with pytest.raises(InvalidFields) as refused:
        flavor_update(flavor_id=made.pk, changes={"id": uuid.uuid4()})
    assert refused.value.field == "id"


def test_deleting_or_changing_a_flavor_that_is_not_there_is_not_found():
    with pytest.raises(NotFound):
        flavor_delete(flavor_id=uuid.uuid4())
    with pytest.raises(NotFound):
        flavor_update(flavor_id=uuid.uuid4(), changes={"vcpus": 2})


def test_private_flavor_is_seen_by_admins_only():
    who = people()
    made = flavor_create(**TINY, is_public=False)
    assert flavor_get(caller=who.admin, flavor_id=made.pk) == made
    with pytest.raises(NotFound):
        flavor_get(caller=who.member, flavor_id=made.pk)
    assert not flavors_visible(caller=who.reader).exists()


def test_flavor_of_an_instance_is_found_by_name_or_id():
    caller, made = people().member, flavor_create(**TINY)
    assert flavor_for_instance(caller=caller, reference="m1.tiny") == made
    assert flavor_for_instance(caller=caller, reference=str(made.pk)) == made


def test_flavor_named_like_another_ones_id_does_not_hide_it():
    caller, made = people().member, flavor_create(**TINY)
    flavor_create(name=str(made.pk), vcpus=8, memory_mib=1)
    assert flavor_for_instance(caller=caller, reference=str(made.pk)) == made


@pytest.mark.parametrize("reference", ["nope", str(uuid.UUID(int=1)), ""])
def test_unknown_flavor_of_an_instance_is_refused_at_the_field(reference):
    with pytest.raises(Invalid, match="does not exist") as refused:
        flavor_for_instance(caller=people().member, reference=reference)
    assert refused.value.field == "flavor"


def test_disabled_flavor_is_refused_even_to_admins():
    caller = people().admin
    flavor_create(**TINY, disabled=True)
    with pytest.raises(Invalid, match="disabled"):
        flavor_for_instance(caller=caller, reference="m1.tiny")


def test_extra_specs_are_refused_key_by_key_and_nothing_is_written():
    specs = {"hw:cpu_polcy": "dedicated", "hw:numa_nodes": "2", "quota:cpu_shares": "many", "mine": "1"}
    with pytest.raises(InvalidFields) as refused:
        flavor_create(**TINY, extra_specs=specs)
    assert set(refused.value.errors) == {f"extra_specs.{key}" for key in specs if key != "mine"}
    assert refused.value.errors["extra_specs.hw:cpu_polcy"][0].endswith("Did you mean hw:cpu_policy?")
    assert not Flavor.objects.exists()


def test_change_of_size_that_breaks_the_extra_specs_is_refused():
    made = flavor_create(name="pair", vcpus=2, memory_mib=512, extra_specs={"hw:numa_nodes": "2"})
    with pytest.raises(InvalidFields, match="3 vCPUs cannot be split evenly over 2 nodes") as refused:
        flavor_update(flavor_id=made.pk, changes={"vcpus": 3})
    assert refused.value.field == "extra_specs.hw:numa_nodes"
    made.refresh_from_db()
    assert made.vcpus == 2


def test_size_and_extra_specs_change_together():
    made = flavor_create(name="pair", vcpus=2, memory_mib=512, extra_specs={"hw:numa_nodes": "2"})
    changed = flavor_update(
        flavor_id=made.pk, changes={"vcpus": 3, "memory_mib": 768, "extra_specs": {"hw:numa_nodes": "3"}}
    )
    assert (changed.vcpus, changed.extra_specs) == (3, {"hw:numa_nodes": "3"})


def test_flavor_from_before_the_rules_is_edited_elsewhere_and_keeps_its_extra_specs():
    old = Flavor.objects.create(**TINY, extra_specs={"hw:gone": "1", "hw:cpu_policy": "mixed"})
    changed = flavor_update(flavor_id=old.pk, changes={"vcpus": 2, "description": "new"})
    assert (changed.vcpus, changed.extra_specs) == (2, {"hw:gone": "1", "hw:cpu_policy": "mixed"})


def test_flavor_from_before_the_rules_takes_no_new_mistake():
    old = Flavor.objects.create(**TINY, extra_specs={"hw:gone": "1"})
    with pytest.raises(InvalidFields) as refused:
        flavor_update(flavor_id=old.pk, changes={"extra_specs": {"hw:gone": "1", "hw:gone_too": "1"}})
    assert list(refused.value.errors) == ["extra_specs.hw:gone_too"]


def test_snapshot_does_not_change_with_its_flavor():
    made = flavor_create(**TINY, extra_specs={"a": "b"})
    snapshot = flavor_snapshot(made)
    flavor_update(flavor_id=made.pk, changes={"vcpus": 8, "extra_specs": {}})
    assert (snapshot["vcpus"], snapshot["extra_specs"]) == (1, {"a": "b"})


def test_generated_key_keeps_only_the_public_half():
    made = keypair_generate(user_id=people().member.user_id, name="mine")
    row = KeyPair.objects.get()
    assert "PRIVATE KEY" in made.private_key
    assert row.public_key.startswith("ssh-ed25519 ")
    assert "PRIVATE" not in str(row.__dict__)


def test_key_names_are_per_user():
    who = people()
    key = keypair_generate(user_id=who.member.user_id, name="mine").keypair.public_key
    keypair_create(user_id=who.reader.user_id, name="mine", public_key=key)
    with pytest.raises(Conflict, match="mine already"):
        keypair_create(user_id=who.member.user_id, name="mine", public_key=key)


def test_key_pairs_beyond_the_limit_are_refused_with_numbers(settings):
    settings.KILONOVA = {**settings.KILONOVA, "DEFAULT_QUOTA_KEY_PAIRS": 1}
    user_id = people().member.user_id
    keypair_generate(user_id=user_id, name="one")
    with pytest.raises(QuotaExceeded) as refused:
        keypair_generate(user_id=user_id, name="two")
    over = {"resource": "key_pairs", "requested": 1, "used": 1, "limit": 1}
    assert refused.value.extra == {"requested": 1, "used": 1, "limit": 1, "over": [over]}


def test_somebody_elses_key_is_not_found():
    who = people()
    keypair_generate(user_id=who.member.user_id, name="mine")
    with pytest.raises(NotFound):
        keypair_delete(user_id=who.admin.user_id, name="mine")
    with pytest.raises(Invalid) as refused:
        keypair_for_instance(user_id=who.admin.user_id, name="mine")
    assert refused.value.field == "key_name"


def named_network(name: str, **more):
    request = NetworkRequest(project_id=None, name=name, hypervisor_network="default", **more)
    return network_create(caller=None, request=request)


def test_new_default_network_takes_the_place_of_the_old():
    old = named_network("a", is_default=True)
    named_network("b", is_default=True)
    old.refresh_from_db()
    assert not old.is_default
    assert old.kind == NetworkBackendKind.HYPERVISOR


def test_taken_network_name_is_a_conflict():
    named_network("a")
    with pytest.raises(Conflict):
        named_network("a")
