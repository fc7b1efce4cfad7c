"""What rows keep of a request as JSON is read as it was written."""

import json
import uuid
from dataclasses import replace
from datetime import UTC, datetime

from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.pool import NumaPolicy
from servers.instances.domain.bodies import OF_SCHEDULED_AGAIN, InstanceBody, SpecBody

PLAIN = SpecBody(
    FlavorSnapshot("f", "m1", 1, 512, extra_specs={"hw:x": "1"}), ImageSnapshot("i", properties={"a": "b"})
)
GPU = PciRequest(2, ((("product_id", "1eb8"), ("vendor_id", "10de")),), "gpu", NumaPolicy.REQUIRED, "flavor-0")
WHOLE = replace(
    PLAIN,
    pci_requests=(GPU,),
    availability_zone="az1",
    force_host="h1",
    force_node="n1",
    hints={"same_host": ("a", "b"), "query": ("[]",)},
    group_id=uuid.UUID(int=7),
    min_count=2,
)
INSTANCE = InstanceBody(
    id=uuid.UUID(int=1),
    project_id=uuid.UUID(int=2),
    user_id=uuid.UUID(int=3),
    reservation_id=uuid.UUID(int=4),
    name="web",
    flavor={"name": "m1"},
    flavor_id=uuid.UUID(int=5),
    vcpus=1,
    memory_mib=512,
    image={"name": "demo"},
    image_id=None,
    tags=("a", "b"),
)


def test_spec_survives_json() -> None:
    for body in (PLAIN, WHOLE):
        assert SpecBody.from_dict(json.loads(json.dumps(body.to_dict()))) == body


def test_spec_of_a_plain_request_names_no_count() -> None:
    assert "min_count" not in PLAIN.to_dict()
    assert not PLAIN.is_host_forced
    assert WHOLE.is_host_forced and replace(PLAIN, force_node="n1").is_host_forced


def test_spec_of_before_asked_for_nothing_that_it_does_not_name() -> None:
    old = {key: value for key, value in WHOLE.to_dict().items() if key in ("flavor", "image")} | {"force_host": None}
    assert SpecBody.from_dict(old) == PLAIN


def test_instance_survives_json() -> None:
    again = replace(INSTANCE, generation=3, attempts=2, created_at=datetime(2030, 1, 1, tzinfo=UTC), locked=True)
    for body in (INSTANCE, again):
        assert InstanceBody.from_dict(json.loads(json.dumps(body.to_dict()))) == body


def test_first_request_keeps_nothing_of_an_earlier_one() -> None:
    assert not OF_SCHEDULED_AGAIN & INSTANCE.to_dict().keys()
    assert INSTANCE.to_dict()["vm_state"] == "building"
