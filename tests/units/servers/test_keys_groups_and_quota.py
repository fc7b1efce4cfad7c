import base64

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from controlplane.kernel.errors import Invalid
from servers.catalog.domain.group_rules import group_problems
from servers.catalog.domain.public_keys import key_name_reasons, new_key, public_key_parse
from servers.catalog.domain.quota import QuotaAmounts, count_that_fits, shortfalls

ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@here"


def test_fingerprint_is_md5_with_colons():
    found = public_key_parse(ED25519 + "\n").fingerprint
    assert found == "65:96:2d:fc:e8:d5:a9:11:64:0c:0f:ea:00:6e:5b:bd"


def test_generated_pair_belongs_together():
    key = new_key("mine")
    private = serialization.load_ssh_private_key(key.private_key.encode(), password=None)
    public = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    assert key.public.line == f"{public.decode()} mine"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "key type '' is not known"),
        ("hello world", "key type 'hello' is not known"),
        ("ssh-ed25519", "not the base64"),
        ("ssh-ed25519 !!!", "not the base64"),
        ("ssh-ed25519 AAAA", "not the base64"),
        ("ssh-rsa " + ED25519.split()[1], "does not contain what its first word says"),
        ("ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x05short").decode(), "damaged"),
        (ED25519 + "\n" + ED25519, "one line"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "private key"),
        ("ssh-rsa " + "A" * 20000, "at most 16384"),
    ],
)
def test_bad_public_key_is_refused(text, part):
    with pytest.raises(Invalid, match=part) as refused:
        public_key_parse(text)
    assert refused.value.field == "public_key"


def packed(*parts: bytes) -> str:
    return base64.b64encode(b"".join(len(part).to_bytes(4, "big") + part for part in parts)).decode()


POINT = (
    ec.generate_private_key(ec.SECP256R1())
    .public_key()
    .public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
)
SK, SK_EC = b"sk-ssh-ed25519@openssh.com", b"sk-ecdsa-sha2-nistp256@openssh.com"
WHOLE = {SK: packed(SK, b"k" * 32, b"ssh:"), SK_EC: packed(SK_EC, b"nistp256", POINT, b"ssh:")}


@pytest.mark.parametrize("kind", WHOLE)
def test_security_key_is_taken(kind):
    assert public_key_parse(f"{kind.decode()} {WHOLE[kind]} me@token").line == f"{kind.decode()} {WHOLE[kind]} me@token"


@pytest.mark.parametrize("kind", WHOLE)
def test_security_key_that_was_cut_off_or_goes_on_is_refused_wherever_it_is(kind):
    blob = base64.b64decode(WHOLE[kind])
    cut = [base64.b64encode(blob[:end]).decode() for end in range(4 + len(kind), len(blob))]
    for encoded in [*cut, base64.b64encode(blob + b"\0").decode(), base64.b64encode(blob * 2).decode()]:
        with pytest.raises(Invalid, match=r"damaged|not the base64"):
            public_key_parse(f"{kind.decode()} {encoded}")


@pytest.mark.parametrize(
    ("kind", "encoded"),
    [
        (SK, packed(SK, b"k" * 31, b"ssh:")),
        (SK, packed(SK, b"k" * 32)),
        (SK, packed(SK, b"k" * 32, b"")),
        (SK_EC, packed(SK_EC, b"nistp384", POINT, b"ssh:")),
        (SK_EC, packed(SK_EC, b"nistp256", b"\x04" + b"\x01" * 64, b"ssh:")),
    ],
)
def test_security_key_with_a_wrong_part_is_refused(kind, encoded):
    with pytest.raises(Invalid, match="damaged"):
        public_key_parse(f"{kind.decode()} {encoded}")


@pytest.mark.parametrize("between", ["\t", "  ", " \t "])
def test_tabs_and_more_spaces_between_the_words_are_legal(between):
    kind, encoded, comment = ED25519.split()
    found = public_key_parse(between.join((kind, encoded, comment)))
    assert found == public_key_parse(ED25519)
    assert found.line == ED25519


def test_comment_keeps_its_spaces():
    assert public_key_parse(ED25519 + "  and  more").line == ED25519 + "  and  more"


@pytest.mark.parametrize("name", ["", "a/b", "ключ", "x" * 256, "a\nb"])
def test_bad_key_name_is_refused(name):
    assert key_name_reasons(name)


@pytest.mark.parametrize("name", ["me@laptop", "my key", "a.b_c-d"])
def test_novas_key_names_are_taken(name):
    assert key_name_reasons(name) == []


@pytest.mark.parametrize(
    ("name", "policy", "rules", "field"),
    [
        ("", "affinity", {}, "name"),
        ("g", "friendly", {}, "policy"),
        ("g", "affinity", {"max_server_per_host": 2}, "rules"),
        ("g", "anti-affinity", {"max_server_per_host": 0}, "rules"),
        ("g", "anti-affinity", {"max_server_per_host": "2"}, "rules"),
        ("g", "anti-affinity", {"other": 1}, "rules"),
        ("g", "anti-affinity", [], "rules"),
    ],
)
def test_bad_group_is_refused_at_its_field(name, policy, rules, field):
    assert list(group_problems(name=name, policy=policy, rules=rules)) == [field]


def test_limit_per_host_goes_with_anti_affinity():
    assert group_problems(name="g", policy="anti-affinity", rules={"max_server_per_host": 3}) == {}


USED = QuotaAmounts(instances=9, cores=10, ram_mib=1000)


def test_reaching_the_limit_exactly_is_allowed():
    limits = QuotaAmounts(10, 12, 1512)
    assert shortfalls(wanted=QuotaAmounts(1, 2, 512), used=USED, limits=limits) == []


def test_every_resource_that_goes_over_is_named_with_numbers():
    missing = shortfalls(wanted=QuotaAmounts(2, 1, 5000), used=USED, limits=QuotaAmounts(10, 40, 2000))
    assert [one.sentence for one in missing] == [
        "instances: 2 asked for, 9 of 10 in use.",
        "ram_mib: 5000 asked for, 1000 of 2000 in use.",
    ]


def test_minus_one_is_unlimited():
    assert shortfalls(wanted=QuotaAmounts(10**6, 10**6, 10**9), used=USED, limits=QuotaAmounts(-1, -1, -1)) == []
    assert count_that_fits(each=QuotaAmounts(1, 1, 1), used=USED, limits=QuotaAmounts(-1, -1, -1), maximum=50) == 50


def test_batch_is_cut_to_what_fits():
    assert count_that_fits(each=QuotaAmounts(1, 4, 10), used=USED, limits=QuotaAmounts(20, 20, 51200), maximum=10) == 2


def test_nothing_fits_when_usage_is_over_a_lowered_limit():
    assert count_that_fits(each=QuotaAmounts(1, 1, 1), used=USED, limits=QuotaAmounts(5, 40, 51200), maximum=10) == 0
