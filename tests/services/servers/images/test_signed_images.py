"""Signed images: what is verified when an image comes and when an instance is made of it, and who is trusted."""

import base64
import datetime
import hashlib
import io
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, padding, rsa
from cryptography.x509.oid import NameOID

from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, Forbidden, Invalid, InvalidFields, NotFound
from servers.agent_api import conductor_connect
from servers.images.services.certificates import certificate_create, certificate_delete
from servers.images.services.image import image_create, image_update
from servers.images.services.image_store import image_upload
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.domain.rebuild_rules import InstanceRebuild
from servers.instances.services.create import instances_create
from servers.instances.services.rescue import instance_rebuild
from servers.models import BuildRequest, Image, ImageCertificate, Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
DATA = b"a disk" * 100
SHA256 = hashlib.sha256(DATA).hexdigest()
NOW = datetime.datetime.now(tz=datetime.UTC)
DAY = datetime.timedelta(days=1)
CA_KEY = ec.generate_private_key(ec.SECP384R1())
KEY = ec.generate_private_key(ec.SECP384R1())
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
DSA_KEY = dsa.generate_private_key(key_size=2048)
METHODS = {"SHA-224": hashes.SHA224, "SHA-256": hashes.SHA256, "SHA-384": hashes.SHA384, "SHA-512": hashes.SHA512}


def certificate(key: Any, issuer_key: Any = None, *, name: str = "signer", is_ca: bool = False, days: int = 1) -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca" if issuer_key else name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - 9 * DAY)
        .not_valid_after(NOW + days * DAY)
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .sign(issuer_key or key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


def keep(caller: Caller, pem: str, **more: Any) -> str:
    return str(certificate_create(caller=caller, name="c", certificate=pem, **more).pk)


def signed(
    certificate_id: str,
    key: Any = KEY,
    key_type: str = "ECC_SECP384R1",
    data: bytes = DATA,
    method: str = "SHA-256",
) -> dict[str, str]:
    by = METHODS[method]()
    if key_type == "RSA-PSS":
        signature = key.sign(data, padding.PSS(mgf=padding.MGF1(by), salt_length=padding.PSS.MAX_LENGTH), by)
    elif key_type == "DSA":
        signature = key.sign(data, by)
    else:
        signature = key.sign(data, ec.ECDSA(by))
    return {
        "img_signature": base64.b64encode(signature).decode(),
        "img_signature_hash_method": method,
        "img_signature_certificate_uuid": certificate_id,
        "img_signature_key_type": key_type,
    }


def create(caller: Caller, *trusted: str, image: str = "signed") -> tuple[str, ...]:
    wanted = InstanceCreate(name="vm", flavor="m1.tiny", image=image, trusted_image_certificates=trusted)
    instances_create(caller=caller, wanted=wanted)
    return BuildRequest.objects.latest("created_at").typed_body.trusted_image_certificates


def refused(caller: Caller, *trusted: str, image: str = "signed") -> str:
    with pytest.raises(Invalid) as caught:
        create(caller, *trusted, image=image)
    assert not BuildRequest.objects.exists()
    return f"{caught.value.field}: {caught.value.message}"


def image_of(properties: dict[str, str]) -> Image:
    return world.image("signed", checksum_sha256=SHA256, properties=properties)


@pytest.mark.parametrize(
    ("key", "key_type"), [(KEY, "ECC_SECP384R1"), (RSA_KEY, "RSA-PSS"), (DSA_KEY, "DSA")], ids=["ecc", "rsa", "dsa"]
)
def test_image_signed_by_a_trusted_certificate_is_taken(key: Any, key_type: str) -> None:
    who = world.cloud()
    signer = keep(who.member, certificate(key))
    image_of(signed(signer, key, key_type))
    assert create(who.member, signer) == (signer,)


def test_certificate_that_a_trusted_one_signed_is_trusted() -> None:
    who = world.cloud()
    authority = keep(who.admin, certificate(CA_KEY, name="ca", is_ca=True), is_shared=True)
    signer = keep(who.member, certificate(KEY, CA_KEY))
    image_of(signed(signer))
    assert create(who.member, authority) == (authority,)


@pytest.mark.parametrize(("is_ca", "days", "reason"), [(False, 1, "or signed it"), (True, -1, "is not in force now")])
def test_chain_that_does_not_hold_is_refused(*, is_ca: bool, days: int, reason: str) -> None:
    who = world.cloud()
    authority = keep(who.member, certificate(CA_KEY, name="ca", is_ca=is_ca))
    signer = keep(who.member, certificate(KEY, CA_KEY, days=days))
    image_of(signed(signer))
    said = refused(who.member, authority)
    assert f"Image signature certificate validation failed for certificate: {signer}" in said
    assert reason in said


def test_other_bytes_other_key_and_another_kind_of_key_are_refused() -> None:
    who = world.cloud()
    signer = keep(who.member, certificate(KEY))
    image = image_of(signed(signer, data=b"other"))
    assert refused(who.member, signer) == "image: Signature verification of the image failed."
    Image.objects.filter(pk=image.pk).update(properties=signed(signer, CA_KEY))
    assert "verification of the image failed" in refused(who.member, signer)
    Image.objects.filter(pk=image.pk).update(properties={**signed(signer), "img_signature_key_type": "DSA"})
    assert "holds no key of the type DSA" in refused(who.member, signer)
    Image.objects.filter(pk=image.pk).update(properties={**signed(signer), "img_signature_hash_method": "SHA-512"})
    assert "Say img_signature_hash_method before the image is uploaded" in refused(who.member, signer)
    Image.objects.filter(pk=image.pk).update(properties={})
    assert "The image is not signed" in refused(who.member, signer)


def test_certificates_of_another_project_do_not_count() -> None:
    who = world.cloud()
    foreign = keep(who.stranger, certificate(KEY))
    image_of(signed(foreign))
    assert "There is no such certificate here" in refused(who.member, foreign)
    with pytest.raises(NotFound):
        certificate_delete(caller=who.member, certificate_id=ImageCertificate.objects.get().pk)


def test_installation_may_demand_signatures_and_trust_certificates_by_itself(settings: Any) -> None:
    who = world.cloud()
    signer = keep(who.member, certificate(KEY))
    image_of(signed(signer))
    settings.KILONOVA = {**settings.KILONOVA, "VERIFY_IMAGE_SIGNATURES": True}
    assert "The image is not signed" in refused(who.member, image="demo")
    assert create(who.member) == ()
    BuildRequest.objects.all().delete()
    settings.KILONOVA = {**settings.KILONOVA, "ENABLE_CERTIFICATE_VALIDATION": True}
    assert "No certificate is trusted" in refused(who.member)
    settings.KILONOVA = {**settings.KILONOVA, "DEFAULT_TRUSTED_CERTIFICATE_IDS": signer}
    assert create(who.member) == (signer,)


@pytest.mark.parametrize("trusted", [["x", "x"], [""], [7], ["x"] * 51])
def test_list_of_certificates_has_a_form(trusted: list[Any]) -> None:
    who = world.cloud()
    with pytest.raises(InvalidFields) as caught:
        create(who.member, *trusted, image="demo")
    assert set(caught.value.errors) == {"trusted_image_certificates"}


def test_upload_that_is_not_what_was_signed_is_refused(settings: Any, tmp_path: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    who = world.cloud()
    signer = keep(who.member, certificate(KEY))
    for name, data, status in (("good", DATA, "active"), ("bad", b"other" * 100, "killed")):
        image = image_create(caller=who.member, name=name, disk_format="raw", properties=signed(signer))
        if status == "active":
            image_upload(caller=who.member, image_id=image.pk, stream=io.BytesIO(data))
        else:
            with pytest.raises(Invalid, match="Signature verification"):
                image_upload(caller=who.member, image_id=image.pk, stream=io.BytesIO(data))
        assert Image.objects.get(pk=image.pk).status == status


@pytest.mark.parametrize("method", ["SHA-224", "SHA-384", "SHA-512"])
@pytest.mark.parametrize(
    ("key", "key_type"), [(KEY, "ECC_SECP384R1"), (RSA_KEY, "RSA-PSS"), (DSA_KEY, "DSA")], ids=["ecc", "rsa", "dsa"]
)
def test_other_methods_are_digested_while_the_bytes_come(
    settings: Any, tmp_path: Any, method: str, key: Any, key_type: str
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    who = world.cloud()
    signer = keep(who.member, certificate(key))
    said = signed(signer, key, key_type, method=method)
    image = image_create(caller=who.member, name="signed", disk_format="raw", properties=said)
    image_upload(caller=who.member, image_id=image.pk, stream=io.BytesIO(DATA))
    assert create(who.member, signer) == (signer,)

    image.refresh_from_db()
    assert image.digests[method] == hashlib.new(method.replace("-", ""), DATA).hexdigest()
    Image.objects.filter(pk=image.pk).update(digests={method: hashlib.new(method.replace("-", ""), b"x").hexdigest()})
    with pytest.raises(Invalid, match="Signature verification of the image failed"):
        create(who.member, signer)


def test_method_whose_digest_was_not_made_cannot_be_named_later(settings: Any, tmp_path: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    who = world.cloud()
    signer = keep(who.member, certificate(KEY))
    image = image_create(caller=who.member, name="signed", disk_format="raw")
    image_upload(caller=who.member, image_id=image.pk, stream=io.BytesIO(DATA))
    with pytest.raises(Conflict, match="img_signature_hash_method cannot change while the image is active"):
        image_update(caller=who.member, image_id=image.pk, changes={"properties": signed(signer, method="SHA-384")})
    image_update(caller=who.member, image_id=image.pk, changes={"properties": signed(signer)})
    assert create(who.member, signer) == (signer,)


def test_certificates_by_the_api() -> None:
    who = world.cloud()
    member, stranger = world.client_of(who.member), world.client_of(who.stranger)
    pem = certificate(KEY, name="images")
    made = member.post("/api/image-certificates/", {"name": "mine", "certificate": pem}, format="json")
    assert (made.status_code, made.json()["subject"]) == (201, "CN=images")
    path = f"/api/image-certificates/{made.json()['id']}/"
    assert member.get(path).json()["certificate"] == pem.strip()
    assert stranger.get(path).status_code == stranger.delete(path).status_code == 404
    reader = world.client_of(who.reader)
    assert reader.get("/api/image-certificates/").json()["count"] == 1
    assert reader.post("/api/image-certificates/", {"name": "x", "certificate": pem}, format="json").status_code == 403
    shared = {"name": "all", "certificate": pem, "is_shared": True}
    assert member.post("/api/image-certificates/", shared, format="json").status_code == 403
    bad = member.post("/api/image-certificates/", {"name": "x", "certificate": pem + pem}, format="json")
    assert bad.json()["error"]["field"] == "certificate"
    ours = world.client_of(who.admin).post("/api/image-certificates/", shared, format="json").json()
    assert stranger.get("/api/image-certificates/").json()["results"][0]["id"] == ours["id"]
    with pytest.raises(Forbidden):
        certificate_delete(caller=who.member, certificate_id=ImageCertificate.objects.get(project=None).pk)
    assert member.delete(path).status_code == 204


def test_rebuild_asks_for_a_signature_too() -> None:
    who = world.cloud()
    signer = keep(who.member, certificate(KEY))
    image_of(signed(signer))
    create(who.member, signer)
    world.pump()
    world.finish_builds()
    instance = Instance.objects.get()
    with pytest.raises(Invalid, match="is not signed"):
        instance_rebuild(caller=who.member, instance_id=instance.pk, wanted=InstanceRebuild(image="demo"))
    other = keep(who.member, certificate(CA_KEY))
    with pytest.raises(Invalid, match="None of the trusted certificates"):
        wanted = InstanceRebuild(trusted_image_certificates=[other])
        instance_rebuild(caller=who.member, instance_id=instance.pk, wanted=wanted)
    instance_rebuild(caller=who.member, instance_id=instance.pk, wanted=InstanceRebuild())
    assert world.instance_of(instance.pk).task_state == "rebuilding"
    assert world.instance_of(instance.pk).trusted_image_certificates == [signer]


def test_rebuild_takes_other_certificates_and_lets_go_of_them() -> None:
    who = world.cloud()
    first, second = keep(who.member, certificate(KEY)), keep(who.member, certificate(RSA_KEY))
    image_of(signed(first))
    image = world.image("new", checksum_sha256=SHA256, properties=signed(second, RSA_KEY, "RSA-PSS"))
    create(who.member, first)
    world.pump()
    world.finish_builds()
    instance = Instance.objects.get()
    for asked, left in (([second], [second]), ([], [])):
        wanted = InstanceRebuild(image=str(image.pk), trusted_image_certificates=asked)
        row = instance_rebuild(caller=who.member, instance_id=instance.pk, wanted=wanted)
        assert row.trusted_image_certificates == left
        conductor_connect().action_done(lease=world.order("h1", WorkKind.REBUILD).lease, facts=world.RUNNING)
