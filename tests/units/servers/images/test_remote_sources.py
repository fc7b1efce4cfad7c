import hashlib

import pytest

from servers.images.domain.remote_sources import (
    SourceRules,
    checksum_in_list,
    checksum_parsed,
    file_name_of,
    is_downgrade,
    redirect_target,
    url_reasons,
    url_without_query,
)

ANY = SourceRules(("https", "http"), (), (443, 80), ())
SOME = SourceRules(("https",), ("cloud.debian.org", "*.ubuntu.com"), (443, 8443), ())
SHA256, SHA512 = "ab" * 32, "cd" * 64


@pytest.mark.parametrize(
    "url",
    [
        "https://cloud.debian.org/images/a.qcow2",
        "https://cloud-images.ubuntu.com/a?x=1",
        "https://a.b.ubuntu.com:8443/",
    ],
)
def test_url_within_the_rules_is_fine(url):
    assert url_reasons(url, SOME) == []
    assert url_reasons("http://example.org/a", ANY) == []
    assert url_reasons("http://[2001:db8::1]/a", ANY) == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://cloud.debian.org/a", "Begins with 'http'"),
        ("file:///etc/passwd", "Begins with 'file'"),
        ("ftp://cloud.debian.org/a", "Begins with 'ftp'"),
        ("gopher://cloud.debian.org/a", "Begins with 'gopher'"),
        ("cloud.debian.org/a", "Begins with ''"),
        ("https://cloud.debian.org.evil.org/a", "Is of host cloud.debian.org.evil.org"),
        ("https://evilubuntu.com/a", "Is of host"),
        ("https://ubuntu.com/a", "Is of host"),
        ("https://user@cloud.debian.org/a", "no user name"),
        ("https://cloud.debian.org@evil.org/a", "no user name"),
        ("https://cloud.debian.org:22/a", "Names port 22"),
        ("https://cloud.debian.org:x/a", "Is not a URL"),
        ("https://[::1/a", "Is not a URL"),
        ("https:///a", "host"),
        ("https://cloud.debian.org\\@evil.org/", "Has characters"),
        ("https://cloud.debian.org/a b", "Has characters"),
        ("https://cloud.debian.org/a\r\nHost: x", "Has characters"),
        ("https://cloud.debian.org/\x00", "Has characters"),
        ("https://cloud.debian.org/" + "a" * 2000, "Has 2025 characters"),
        ("", "Must be a URL"),
        (5, "Must be a URL"),
    ],
)
def test_url_beyond_the_rules_is_refused_with_one_reason(url, said):
    (reason,) = url_reasons(url, SOME)
    assert said in reason


def test_without_schemes_nothing_is_imported():
    assert url_reasons("https://a.org/x", SourceRules((), (), (443,), ()))


def test_redirect_is_read_from_where_it_was_found():
    assert redirect_target("https://a.org/x/y", "../z?q=1#part") == "https://a.org/z?q=1"
    assert redirect_target("https://a.org/x", "//b.org/y") == "https://b.org/y"
    assert is_downgrade("https://a.org", "http://a.org")
    assert not is_downgrade("http://a.org", "http://b.org")


def test_what_may_be_a_secret_is_left_out_for_people():
    assert url_without_query("https://a.org/x.img?X-Amz-Signature=1#f") == "https://a.org/x.img"
    assert file_name_of("https://a.org/b/c%20d.img?x=/y") == "c d.img"


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        (SHA256, ("sha256", SHA256)),
        (f"sha256:{SHA256.upper()}", ("sha256", SHA256)),
        (f"sha512:{SHA512}", ("sha512", SHA512)),
        (SHA512, ("sha512", SHA512)),
        (f"sha512:{SHA256}", None),
        (f"md5:{'a' * 32}", None),
        ("a" * 32, None),
        ("", None),
    ],
)
def test_checksum_names_its_algorithm_or_has_its_length(text, parsed):
    assert checksum_parsed(text) == parsed


def test_checksum_is_found_in_the_lists_that_distributions_publish():
    other = hashlib.sha512(b"x").hexdigest()
    debian = f"{other}  other.qcow2\n{SHA512}  debian.qcow2\n"
    assert checksum_in_list(debian, "debian.qcow2") == f"sha512:{SHA512}"
    assert checksum_in_list(f"{SHA256} *noble.img\n", "noble.img") == f"sha256:{SHA256}"
    fedora = f"-----BEGIN PGP SIGNED MESSAGE-----\n# x\nSHA256 (Fedora.qcow2) = {SHA256}\n"
    assert checksum_in_list(fedora, "Fedora.qcow2") == f"sha256:{SHA256}"
    assert checksum_in_list(debian, "debian.raw") == ""
    assert checksum_in_list("", "a") == ""
