import pytest

from servers.images.domain.image_rules import checksum_reasons, image_problems


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "\n"),
        ("disk_format", "iso"),
        ("container_format", "ova"),
        ("visibility", "hidden"),
        ("min_disk_gib", -1),
        ("min_ram_mib", "1"),
        ("properties", "x"),
        ("properties", {str(index): "" for index in range(129)}),
        ("expected_sha256", "abc"),
    ],
)
def test_bad_value_is_refused_at_its_field(field, value):
    assert list(image_problems({field: value})) == [field]


def test_own_properties_are_kept():
    assert image_problems({"properties": {"os_distro": "debian", "hw_disk_bus": "virtio", "mine": ""}}) == {}


@pytest.mark.parametrize("text", ["A" * 64, "a" * 64, "0aF9" * 16])
def test_checksum_is_taken_in_letters_of_either_case(text):
    assert checksum_reasons(text) == []


@pytest.mark.parametrize("text", ["a" * 63, "a" * 65, "g" * 64, "", 5])
def test_what_is_no_checksum_is_refused(text):
    assert checksum_reasons(text)
