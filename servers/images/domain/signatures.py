"""Signed images: whether a signature is one of these bytes, and whether the certificate behind it is trusted.

The properties are Glance's (`img_signature*`). What is signed is the image's data, so whoever knows its digest
needs no byte of it. Hash methods and signature schemes are those of OpenStack's library cursive.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, padding, rsa, utils

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _

HASH_METHOD_PROPERTY = "img_signature_hash_method"
SHA256 = "SHA-256"
"""The digest that each image has, whatever it says."""
MD5 = "MD5"
"""By which clients of the Image API tell whether a file came whole. No signature is verified by it."""
HASH_METHODS: Mapping[str, hashes.HashAlgorithm] = {
    "SHA-224": hashes.SHA224(),
    SHA256: hashes.SHA256(),
    "SHA-384": hashes.SHA384(),
    "SHA-512": hashes.SHA512(),
}
REQUIRED = ("img_signature", HASH_METHOD_PROPERTY, "img_signature_certificate_uuid", "img_signature_key_type")
PEM_MAX_CHARS = 32_768
CHAIN_MAX = 10
_CURVES = {
    "ECC_SECP384R1": "secp384r1",
    "ECC_SECP521R1": "secp521r1",
    "ECC_SECT409K1": "sect409k1",
    "ECC_SECT409R1": "sect409r1",
    "ECC_SECT571K1": "sect571k1",
    "ECC_SECT571R1": "sect571r1",
}


@dataclass(frozen=True, slots=True)
class ImageSignature:
    """What an image's properties say of its signature."""

    signature: bytes
    certificate_id: str
    key_type: str
    hash_method: str


def image_signature(properties: Mapping[str, Any]) -> ImageSignature:
    """From properties under the names of today. Raises Invalid for the field `image`."""
    missing = [name for name in REQUIRED if not properties.get(name)]
    if missing:
        raise Invalid(_("The image is not signed: it has no {missing}.", missing=", ".join(missing)), field="image")
    method = str(properties[HASH_METHOD_PROPERTY])
    if method not in HASH_METHODS:
        known = ", ".join(HASH_METHODS)
        raise Invalid(
            _(
                "The image is signed by its {method:.20}; what is verified is one of {known}.",
                method=method,
                known=known,
            ),
            field="image",
        )
    try:
        signature = base64.b64decode("".join(str(properties["img_signature"]).split()), validate=True)
    except (binascii.Error, ValueError):
        raise Invalid(_("img_signature of the image is not base64."), field="image") from None
    key_type = str(properties["img_signature_key_type"])
    return ImageSignature(signature, str(properties["img_signature_certificate_uuid"]).lower(), key_type, method)


def digest_wanted(properties: Mapping[str, Any]) -> str:
    """The method by which the bytes have to be digested beside SHA-256, as they come; empty for none."""
    method = str(properties.get(HASH_METHOD_PROPERTY) or "")
    return method if method in HASH_METHODS and method != SHA256 else ""


def certificate_parse(pem: str) -> x509.Certificate:
    """One certificate in PEM. Raises Invalid for the field `certificate`."""
    try:
        if len(pem) > PEM_MAX_CHARS:
            raise ValueError
        (certificate,) = x509.load_pem_x509_certificates(pem.encode("ascii"))
        certificate.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise Invalid(_("Must be one X.509 certificate in PEM."), field="certificate") from None
    return certificate


def signature_check(said: ImageSignature, *, digests: Mapping[str, str], certificate: x509.Certificate) -> None:
    """Raises Invalid for the field `image` unless this key signed data of these digests (in hex, by their method)."""
    if said.hash_method not in digests:
        wanted = _(
            "Say {hash_method_property} before the image is uploaded, since its bytes are digested as they come.",
            hash_method_property=HASH_METHOD_PROPERTY,
        )
        raise Invalid(
            _(
                "The {hash_method} of the image is not known here. {wanted}",
                hash_method=said.hash_method,
                wanted=wanted,
            ),
            field="image",
        )
    key, digest = certificate.public_key(), bytes.fromhex(digests[said.hash_method])
    method = HASH_METHODS[said.hash_method]
    prehashed = utils.Prehashed(method)
    try:
        if said.key_type == "RSA-PSS" and isinstance(key, rsa.RSAPublicKey):
            scheme = padding.PSS(mgf=padding.MGF1(method), salt_length=padding.PSS.AUTO)
            key.verify(said.signature, digest, scheme, prehashed)
        elif said.key_type == "DSA" and isinstance(key, dsa.DSAPublicKey):
            key.verify(said.signature, digest, prehashed)
        elif isinstance(key, ec.EllipticCurvePublicKey) and _CURVES.get(said.key_type) == key.curve.name:
            key.verify(said.signature, digest, ec.ECDSA(prehashed))
        else:
            message = _(
                "The certificate of the image's signature holds no key of the type {key_type:.20}.",
                key_type=said.key_type,
            )
            raise Invalid(message, field="image")
    except InvalidSignature:
        raise Invalid(_("Signature verification of the image failed."), field="image") from None


def certificate_refusal(
    certificate: x509.Certificate, trusted: Mapping[str, x509.Certificate], *, certificate_id: str, now: datetime
) -> str:
    """Why the certificate is not trusted; empty if it is among the trusted ones, or signed by one through no more than
    CHAIN_MAX others that are given too. Each on the way must be in force, and each that signed another be a CA.
    """
    here, on_the_way = certificate, 0
    while True:
        if not here.not_valid_before_utc <= now <= here.not_valid_after_utc:
            return _("{name} is not in force now.", name=_name(here))
        if here in trusted.values():
            return ""
        issuer = next((each for each in trusted.values() if _issued(each, here)), None)
        on_the_way += 1
        if issuer is None or on_the_way > CHAIN_MAX:
            return _(
                "None of the trusted certificates is {certificate_id} or signed it.", certificate_id=certificate_id
            )
        here = issuer


def _issued(issuer: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
        return bool(issuer.extensions.get_extension_for_class(x509.BasicConstraints).value.ca)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm, x509.ExtensionNotFound):
        return False


def _name(certificate: x509.Certificate) -> str:
    return _("The certificate {rfc4514_string!r}", rfc4514_string=certificate.subject.rfc4514_string()[:80])


def certificate_ids_reasons(ids: object) -> list[str]:
    """A list of at most 50 different texts, as in Nova."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        return [_("Must be a list of ids of certificates.")]
    found = list(ids)
    if len(found) > 50 or not all(isinstance(one, str) and 0 < len(one) <= 255 for one in found):
        return [_("Must be at most 50 ids of certificates.")]
    return [] if len(set(found)) == len(found) else [_("Names a certificate twice.")]
