"""A real LDAP directory: slapd with two people, groups, a service account and TLS, in a directory of its own."""

import datetime
import ipaddress
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import ldap3
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.fixtures.patience import PATIENCE_S

SLAPD = shutil.which("slapd") or "/usr/sbin/slapd"
BASE = "dc=example,dc=org"
SERVICE, SERVICE_WORD = f"cn=kilonova,{BASE}", "service word"
WORD = "correct horse battery"
PEOPLE = f"""\
dn: {BASE}
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,{BASE}
objectClass: organizationalUnit
ou: people

dn: ou=groups,{BASE}
objectClass: organizationalUnit
ou: groups

dn: {SERVICE}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: kilonova
userPassword: {SERVICE_WORD}

dn: uid=olga,ou=people,{BASE}
objectClass: inetOrgPerson
uid: olga
cn: Olga
sn: Olga
mail: olga@example.org
userPassword: {WORD}

dn: uid=otto,ou=people,{BASE}
objectClass: inetOrgPerson
uid: otto
cn: Otto
sn: Otto
userPassword: {WORD}

dn: cn=lab,ou=groups,{BASE}
objectClass: groupOfNames
cn: lab
member: uid=olga,ou=people,{BASE}

dn: cn=chiefs,ou=groups,{BASE}
objectClass: posixGroup
cn: chiefs
gidNumber: 100
memberUid: otto
"""


@dataclass(frozen=True)
class Directory:
    """Where it listens, and what its certificate is checked against."""

    port: int
    tls_port: int
    ca_file: Path
    process: "subprocess.Popen[bytes]"

    def settings(self, **changes: object) -> dict[str, object]:
        """What an installation is told of it."""
        told: dict[str, object] = {
            "LDAP_URL": (f"ldap://127.0.0.1:{self.port}",),
            "LDAP_CA_FILE": str(self.ca_file),
            "LDAP_BIND_DN": SERVICE,
            "LDAP_BIND_PASSWORD": SERVICE_WORD,
            "LDAP_USER_BASE": f"ou=people,{BASE}",
            "LDAP_GROUP_BASE": f"ou=groups,{BASE}",
        }
        return {**told, **changes}

    @contextmanager
    def root(self) -> Iterator[ldap3.Connection]:
        """Whoever may change it."""
        server = ldap3.Server(f"ldap://127.0.0.1:{self.port}")
        with ldap3.Connection(server, f"cn=root,{BASE}", "root word", raise_exceptions=True) as connection:
            yield connection


@contextmanager
def slapd(place: Path) -> Iterator[Directory]:
    """Running until the end of the block."""
    if not Path(SLAPD).exists():
        pytest.skip("slapd is not installed")
    (place / "db").mkdir()
    _certificates(place)
    config, people = place / "slapd.conf", place / "people.ldif"
    config.write_text(_config(place))
    people.write_text(PEOPLE)
    add = Path(SLAPD).with_name("slapadd")
    subprocess.run([add, "-f", config, "-l", people], check=True, capture_output=True)
    port, tls_port = _free_port(), _free_port()
    urls = f"ldap://127.0.0.1:{port} ldaps://127.0.0.1:{tls_port}"
    process = subprocess.Popen([SLAPD, "-f", config, "-h", urls, "-d", "0"], stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield Directory(port, tls_port, place / "ca.pem", process)
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)


def _config(place: Path) -> str:
    schemas = "".join(
        f"include /etc/ldap/schema/{name}.schema\n" for name in ("core", "cosine", "nis", "inetorgperson")
    )
    return f"""{schemas}
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {place}/slapd.pid
TLSCertificateFile {place}/server.pem
TLSCertificateKeyFile {place}/server.key
database mdb
suffix "{BASE}"
rootdn "cn=root,{BASE}"
rootpw "root word"
directory {place}/db
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{SERVICE}" read by * none
"""


def _certificates(place: Path) -> None:
    """An authority, and the directory's certificate by it."""
    now = datetime.datetime.now(datetime.UTC)
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority, name = _named("test authority"), _named("127.0.0.1")
    alike = x509.CertificateBuilder().not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    root = alike.subject_name(authority).issuer_name(authority).public_key(authority_key.public_key())
    root = root.serial_number(1).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    leaf = alike.subject_name(name).issuer_name(authority).public_key(key.public_key()).serial_number(2)
    addresses = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    leaf = leaf.add_extension(addresses, critical=False)
    pem = serialization.Encoding.PEM
    (place / "ca.pem").write_bytes(root.sign(authority_key, hashes.SHA256()).public_bytes(pem))
    (place / "server.pem").write_bytes(leaf.sign(authority_key, hashes.SHA256()).public_bytes(pem))
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (place / "server.key").write_bytes(key.private_bytes(pem, *plain))


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert process.poll() is None, "slapd ended"
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("slapd does not listen")
