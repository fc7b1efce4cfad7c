"""Device profiles: made, changed and removed; what an instance of a flavor that asks for one is given."""

import uuid

import pytest

from controlplane.kernel.errors import Conflict, Invalid, InvalidFields, NotFound
from servers.catalog.selectors.flavor import flavor_for_instance, flavor_snapshots
from servers.catalog.services.device_profile import (
    device_profile_create,
    device_profile_delete,
    device_profile_update,
)
from servers.models import DeviceProfile, Instance
from tests.worlds.cloud import cloud, create, flavor, order, people, pump

pytestmark = pytest.mark.django_db(transaction=True)
GPU = [{"resources:VGPU": "1"}]
ASKS = {"accel:device_profile": "gpu"}


def test_instance_has_what_the_profile_said_when_it_was_asked_for() -> None:
    found = cloud("h1", vgpus=2, traits=("COMPUTE_ACCELERATORS",))
    profile = device_profile_create(name="gpu", groups=GPU)
    flavor("m1.gpu", extra_specs=ASKS)
    create(found.member, flavor="m1.gpu")
    pump()
    device_profile_update(profile_id=profile.pk, changes={"groups": [{"resources:VGPU": "2"}]})
    row = Instance.objects.get()
    assert row.flavor["extra_specs"]["resources_accel0:VGPU"] == "1"
    assert (row.host, order("h1").guest.vgpus) == ("h1", 1)


def test_flavor_that_asks_for_one_that_is_not_there_takes_no_instances() -> None:
    caller = people().member
    flavor("m1.gpu", extra_specs=ASKS)
    with pytest.raises(Invalid, match="asks for the device profile gpu, which does not exist") as refused:
        flavor_for_instance(caller=caller, reference="m1.gpu")
    assert refused.value.field == "flavor"


def test_many_flavors_cost_one_query(django_assert_num_queries: object) -> None:
    device_profile_create(name="gpu", groups=GPU)
    rows = [flavor(f"m{number}", extra_specs=ASKS) for number in range(5)]
    with django_assert_num_queries(1):  # type: ignore[operator]
        assert all(found["extra_specs"]["resources_accel0:VGPU"] == "1" for found in flavor_snapshots(rows))
    plain = [flavor("plain")]
    with django_assert_num_queries(0):  # type: ignore[operator]
        flavor_snapshots(plain)


def test_one_that_flavors_ask_for_keeps_its_name_and_stays() -> None:
    profile = device_profile_create(name="gpu", groups=GPU)
    asking = flavor("m1.gpu", extra_specs=ASKS)
    with pytest.raises(Conflict, match=r"Flavors ask for gpu: m1\.gpu"):
        device_profile_delete(profile_id=profile.pk)
    with pytest.raises(Conflict, match=r"Flavors ask for gpu"):
        device_profile_update(profile_id=profile.pk, changes={"name": "other"})
    device_profile_update(profile_id=profile.pk, changes={"description": "one card"})
    asking.delete()
    device_profile_delete(profile_id=profile.pk)
    assert not DeviceProfile.objects.exists()


def test_refusals() -> None:
    device_profile_create(name="gpu", groups=GPU)
    with pytest.raises(Conflict, match="exists already"):
        device_profile_create(name="gpu", groups=GPU)
    with pytest.raises(InvalidFields):
        device_profile_create(name="fpga", groups=[{"resources:FPGA": "1"}])
    other = device_profile_create(name="other", groups=GPU)
    with pytest.raises(Conflict, match="exists already"):
        device_profile_update(profile_id=other.pk, changes={"name": "gpu"})
    with pytest.raises(InvalidFields):
        device_profile_update(profile_id=other.pk, changes={"id": uuid.uuid4()})
    with pytest.raises(NotFound):
        device_profile_delete(profile_id=uuid.uuid4())
