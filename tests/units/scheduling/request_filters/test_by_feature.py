import pytest

from controlplane.kernel.errors import Invalid
from scheduling.domain.policy import PolicyOptions
from scheduling.domain.request.schedule_request import RequestedNetwork
from scheduling.request_filters import Addition, RequestFilter, Surroundings
from scheduling.request_filters.by_feature import (
    accelerators_filter,
    compute_status_filter,
    ephemeral_encryption_filter,
    owner_nova_filter,
    packed_virtqueue_filter,
    remote_managed_ports_filter,
    tpm_secret_security_filter,
    virtio_sound_filter,
)
from tests.units.scheduling.worlds import request

NOTHING = Addition()
AROUND = Surroundings((), PolicyOptions())
ENCRYPTED = "COMPUTE_EPHEMERAL_ENCRYPTION"
SECRET = "COMPUTE_SECURITY_TPM_SECRET_SECURITY"


def test_disabled_hosts_are_always_forbidden() -> None:
    assert compute_status_filter(request(), AROUND).forbidden == {"COMPUTE_STATUS_DISABLED"}


def test_device_profile_requires_accelerators() -> None:
    found = accelerators_filter(request(specs={"accel:device_profile": "fpga"}), AROUND)
    assert found.required == {"COMPUTE_ACCELERATORS"}


@pytest.mark.parametrize("specs", [{}, {"accel:device_profile": ""}])
def test_flavor_without_device_profile_requires_no_accelerators(specs: dict[str, str]) -> None:
    assert accelerators_filter(request(specs=specs), AROUND) == NOTHING


@pytest.mark.parametrize(
    ("specs", "properties"),
    [
        ({"hw:virtio_packed_ring": "true"}, {}),
        ({}, {"hw_virtio_packed_ring": "yes"}),
        ({}, {"hw_virtio_packed_ring": True}),
        ({"hw:virtio_packed_ring": "1"}, {"hw_virtio_packed_ring": "on"}),
    ],
)
def test_packed_ring_of_flavor_or_image_requires_the_trait(
    specs: dict[str, str], properties: dict[str, object]
) -> None:
    found = packed_virtqueue_filter(request(specs=specs, properties=properties), AROUND)
    assert found.required == {"COMPUTE_NET_VIRTIO_PACKED"}


@pytest.mark.parametrize("specs", [{}, {"hw:virtio_packed_ring": "false"}, {"hw:virtio_packed_ring": "maybe"}])
def test_packed_ring_that_nobody_wants_requires_nothing(specs: dict[str, str]) -> None:
    assert packed_virtqueue_filter(request(specs=specs), AROUND) == NOTHING


@pytest.mark.parametrize(
    ("rule", "name", "one", "other"),
    [
        (packed_virtqueue_filter, "virtio_packed_ring", "true", "false"),
        (ephemeral_encryption_filter, "ephemeral_encryption", "false", "true"),
        (virtio_sound_filter, "sound_model", "virtio", "usb"),
        (tpm_secret_security_filter, "tpm_version", "1.2", "2.0"),
    ],
)
def test_flavor_and_image_that_differ_fail_the_request(rule: RequestFilter, name: str, one: str, other: str) -> None:
    asked = request(specs={f"hw:{name}": one}, properties={f"hw_{name}": other})
    with pytest.raises(Invalid, match=f"the flavor says hw:{name}={one}, the image hw_{name}={other}"):
        rule(asked, AROUND)


def test_remote_managed_port_requires_the_trait() -> None:
    networks = (RequestedNetwork("net-1"), RequestedNetwork("net-2", is_remote_managed=True))
    found = remote_managed_ports_filter(request(requested_networks=networks), AROUND)
    assert found.required == {"COMPUTE_REMOTE_MANAGED_PORTS"}


def test_other_ports_require_nothing() -> None:
    assert remote_managed_ports_filter(request(requested_networks=(RequestedNetwork("net-1"),)), AROUND) == NOTHING


@pytest.mark.parametrize(
    ("form", "traits"),
    [
        (None, {ENCRYPTED}),
        ("luks", {ENCRYPTED, f"{ENCRYPTED}_LUKS"}),
        ("plain", {ENCRYPTED, f"{ENCRYPTED}_PLAIN"}),
        ("luksv2", {ENCRYPTED, f"{ENCRYPTED}_LUKSV2"}),
    ],
)
def test_ephemeral_encryption_requires_the_trait_and_that_of_its_format(form: str | None, traits: set[str]) -> None:
    named = {"hw_ephemeral_encryption_format": form} if form else {}
    asked = request(specs={"hw:ephemeral_encryption": "true"}, properties=named)
    assert ephemeral_encryption_filter(asked, AROUND).required == traits


def test_encryption_format_alone_requires_nothing() -> None:
    asked = request(specs={"hw:ephemeral_encryption_format": "luks"})
    assert ephemeral_encryption_filter(asked, AROUND) == NOTHING


def test_unknown_encryption_format_fails_the_request() -> None:
    asked = request(specs={"hw:ephemeral_encryption": "true", "hw:ephemeral_encryption_format": "rot13"})
    with pytest.raises(Invalid, match="hw:ephemeral_encryption_format is one of plain, luks, luksv2, not rot13"):
        ephemeral_encryption_filter(asked, AROUND)


def test_virtio_sound_requires_the_trait() -> None:
    found = virtio_sound_filter(request(properties={"hw_sound_model": "virtio"}), AROUND)
    assert found.required == {"COMPUTE_SOUND_MODEL_VIRTIO"}


@pytest.mark.parametrize("specs", [{}, {"hw:sound_model": "ich9"}])
def test_other_sound_models_require_nothing(specs: dict[str, str]) -> None:
    assert virtio_sound_filter(request(specs=specs), AROUND) == NOTHING


def test_unknown_sound_model_fails_the_request() -> None:
    with pytest.raises(Invalid, match="hw:sound_model is one of"):
        virtio_sound_filter(request(specs={"hw:sound_model": "gramophone"}), AROUND)


@pytest.mark.parametrize(
    ("said", "trait"),
    [
        (None, f"{SECRET}_HOST"),
        ("user", f"{SECRET}_USER"),
        ("host", f"{SECRET}_HOST"),
        ("deployment", f"{SECRET}_DEPLOYMENT"),
    ],
)
def test_tpm_requires_a_keeper_of_its_secret_the_host_by_default(said: str | None, trait: str) -> None:
    specs = {"hw:tpm_version": "2.0", "hw:tpm_model": "tpm-crb"}
    asked = request(specs=specs if said is None else {**specs, "hw:tpm_secret_security": said})
    assert tpm_secret_security_filter(asked, AROUND).required == {trait}


def test_request_without_tpm_requires_no_keeper() -> None:
    assert tpm_secret_security_filter(request(specs={"hw:tpm_secret_security": "host"}), AROUND) == NOTHING


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        ({"hw:tpm_version": "3.0"}, "hw:tpm_version is one of"),
        ({"hw:tpm_version": "2.0", "hw:tpm_model": "tpm-x"}, "hw:tpm_model is one of"),
        ({"hw:tpm_version": "1.2", "hw:tpm_model": "tpm-crb"}, "needs TPM version 2.0"),
        ({"hw:tpm_version": "2.0", "hw:tpm_secret_security": "nobody"}, "hw:tpm_secret_security is one of"),
    ],
)
def test_tpm_that_cannot_be_fails_the_request(specs: dict[str, str], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        tpm_secret_security_filter(request(specs=specs), AROUND)


@pytest.mark.parametrize(("version", "expected"), [(72, frozenset()), (73, {"OWNER_NOVA"}), (80, {"OWNER_NOVA"})])
def test_owner_is_required_once_every_service_reports_it(version: int, expected: frozenset[str]) -> None:
    around = Surroundings((), PolicyOptions(), min_service_version=version)
    assert owner_nova_filter(request(), around).required == expected
