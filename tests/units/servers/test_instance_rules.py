import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computeagent.protocol.names import hostname_from_name
from servers.fields import name_reasons
from servers.instances.domain.instance_rules import (
    ZoneRequest,
    count_problems,
    hostname_reasons,
    image_fit_problems,
    instance_names,
    instance_problems,
    metadata_reasons,
    new_mac,
    tags_reasons,
    user_data_reasons,
    zone_parse,
)

FINE = {
    "name": "web",
    "metadata": {"role": "web"},
    "tags": ["blue"],
    "user_data": "",
    "min_count": 1,
    "max_count": 1,
}


def test_fine_request_has_no_problems():
    assert instance_problems(**FINE) == {}


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        ({"name": ""}, "name", "Must not be blank."),
        ({"name": " \t"}, "name", "Must not be blank."),
        ({"name": "x" * 1_000_000}, "name", "Has 1000000 characters; at most 255 are allowed."),
        ({"name": "a\x00b"}, "name", "Has characters that cannot be printed."),
        ({"name": "bell\a"}, "name", "Has characters that cannot be printed."),
        ({"name": "half\ud800"}, "name", "Has characters that cannot be printed."),
        ({"name": " web"}, "name", "Must not begin or end with a space."),
        ({"name": 7}, "name", "Must be text, not int."),
        ({"min_count": 0}, "min_count", "Is 0; the least is 1."),
        ({"min_count": 0, "max_count": None}, "min_count", "Is 0; the least is 1."),
        ({"min_count": -3}, "min_count", "Is -3; the least is 1."),
        ({"max_count": True}, "max_count", "Must be a whole number, not True."),
        ({"min_count": 3, "max_count": 2}, "max_count", "Is 2, less than min_count, which is 3."),
        ({"max_count": 10**9}, "max_count", "Is 1000000000; the most is 10000."),
        ({"user_data": "not base64!"}, "user_data", "Is not base64."),
        ({"hostname": "-web"}, "hostname", None),
        ({"availability_zone": "a:b:c:d"}, "availability_zone", None),
    ],
)
def test_bad_value_is_refused_at_its_field(change, field, reason):
    problems = instance_problems(**{**FINE, **change})
    assert list(problems) == [field]
    assert reason is None or problems[field] == [reason]


def test_several_bad_fields_are_told_at_once():
    problems = instance_problems(**{**FINE, "name": "", "min_count": 0, "tags": ["a/b"]})
    assert set(problems) == {"name", "min_count", "tags"}


@pytest.mark.parametrize(
    ("metadata", "part"),
    [
        ([1], "Must be an object"),
        ({"a": 1}, "Must be text, not int"),
        ({"a": "x" * 256}, "at most 255"),
        ({"": "x"}, "1 to 255 letters"),
        ({"k" * 256: "x"}, "1 to 255 letters"),
        ({"a/b": "x"}, "1 to 255 letters"),
        ({"a": "nul\x00"}, "cannot be stored"),
        ({str(index): "" for index in range(1001)}, "Has 1001 items; at most 1000"),
    ],
)
def test_bad_metadata_is_refused(metadata, part):
    assert any(part in reason for reason in metadata_reasons(metadata))


def test_metadata_at_its_limits_is_taken():
    assert metadata_reasons({f"key {index:03}": "x" * 255 for index in range(128)}) == []


@pytest.mark.parametrize(
    ("tags", "part"),
    [
        ("text", "Must be a list"),
        ({"a": 1}, "Must be a list"),
        ([1], "Must be text"),
        (["a,b"], "slash or a comma"),
        (["a/b"], "slash or a comma"),
        ([""], "blank"),
        (["x" * 61], "at most 60"),
        ([str(index) for index in range(51)], "Has 51 tags; at most 50"),
    ],
)
def test_bad_tags_are_refused(tags, part):
    assert any(part in reason for reason in tags_reasons(tags))


def test_user_data_at_its_limit_is_taken_and_beyond_is_not():
    fits = base64.b64encode(b"x" * 49149).decode()
    assert user_data_reasons(fits) == []
    assert user_data_reasons("A" * 65536) == ["Has 65536 characters of base64; at most 65535 are allowed."]


def test_user_data_with_line_breaks_is_taken():
    assert user_data_reasons(base64.encodebytes(b"#!/bin/sh\n" * 50).decode()) == []


def test_line_breaks_of_user_data_do_not_count():
    most = base64.encodebytes(b"x" * 49_149).decode()
    assert len(most) > 65_535 >= len("".join(most.split()))
    assert user_data_reasons(most) == []
    assert user_data_reasons(base64.encodebytes(b"x" * 49_152).decode()) == [
        "Has 65536 characters of base64; at most 65535 are allowed."
    ]


@pytest.mark.parametrize("text", ["A", "====", "añ==", "AAA", 5])
def test_user_data_that_is_not_base64_is_refused(text):
    assert user_data_reasons(text)


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("", ZoneRequest()),
        ("nova", ZoneRequest("nova")),
        ("rack 1", ZoneRequest("rack 1")),
        ("Halle 2/Süd\u00a0A:h1", ZoneRequest("Halle 2/Süd\u00a0A", "h1")),
        ("nova:h1", ZoneRequest("nova", "h1")),
        ("nova:h1:n1", ZoneRequest("nova", "h1", "n1")),
        ("nova::n1", ZoneRequest("nova", "", "n1")),
        (":h1", ZoneRequest("", "h1")),
    ],
)
def test_zone_is_read_as_nova_reads_it(text, zone):
    assert zone_parse(text) == (zone, [])
    assert zone.is_forced == (":" in text)


@pytest.mark.parametrize("text", ["a:", "a::", ":", " a", "a\t", "a:b c", "a:b:c:d", "z\x00", "x" * 256, "a:b/c"])
def test_malformed_zone_is_refused(text):
    assert zone_parse(text)[1]


@given(st.text(max_size=60))
def test_any_text_gives_a_zone_or_a_reason(text):
    zone, reasons = zone_parse(text)
    assert bool(reasons) == (zone == ZoneRequest() and text != "")


def test_counts_that_are_not_numbers_are_refused_both():
    assert set(count_problems("2", 1.5)) == {"min_count", "max_count"}


def test_batch_is_numbered_and_single_keeps_its_name():
    assert instance_names("web", 1) == ["web"]
    assert instance_names("web", 3) == ["web-1", "web-2", "web-3"]


def test_numbered_name_stays_within_the_limit():
    assert [len(name) for name in instance_names("x" * 255, 10)] == [255] * 10
    assert len(set(instance_names("x" * 255, 10))) == 10


@given(st.text(max_size=300))
def test_derived_hostname_is_always_valid(name):
    assert hostname_reasons(hostname_from_name(name, "0b5f0d2e-8c0e-4a63-9a1c-1d8f3ecb3a55")) == []


@pytest.mark.parametrize(
    ("name", "hostname"),
    [("My Web_1.x", "my-web-1-x"), ("Zürich", "zurich"), ("---", "server-u"), ("日本", "server-u")],
)
def test_hostname_is_derived_from_the_name(name, hostname):
    assert hostname_from_name(name, "u") == hostname


FIT = {
    "min_ram_mib": 0,
    "min_disk_gib": 0,
    "size_bytes": 10,
    "virtual_size_bytes": 2**30,
    "flavor_memory_mib": 512,
    "flavor_root_gib": 1,
}


def test_image_that_fits_exactly_is_taken():
    assert image_fit_problems(**{**FIT, "min_ram_mib": 512, "min_disk_gib": 1}) == {}


def test_image_too_big_for_the_flavor_is_refused_with_numbers():
    problems = image_fit_problems(**{**FIT, "min_ram_mib": 513, "virtual_size_bytes": 2**30 + 1})
    assert problems == {
        "flavor": [
            "Has 512 MiB of memory; the image needs at least 513 MiB.",
            "Has a root disk of 1 GiB; the image's disk is 1.0 GiB, 1 bytes more.",
        ]
    }


def test_min_disk_above_the_root_disk_is_refused():
    assert "at least 2 GiB" in image_fit_problems(**{**FIT, "min_disk_gib": 2})["flavor"][0]


def test_flavor_without_a_root_disk_takes_any_image():
    assert image_fit_problems(**{**FIT, "flavor_root_gib": 0, "min_disk_gib": 50}) == {}


def test_mac_is_unicast_in_openstacks_range():
    assert all(new_mac().startswith("fa:16:3e:") and len(new_mac()) == 17 for _ in range(20))


@pytest.mark.parametrize("name", ["a\u00a0b", "Müller\u2003Söhne", "東京\u3000一"])
def test_spaces_of_every_kind_are_within_names(name):
    assert name_reasons(name) == []
    assert name_reasons(f"{name}\u00a0")
