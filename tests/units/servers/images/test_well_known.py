import pytest

from controlplane.kernel.errors import Invalid
from servers.images.domain.remote_sources import SourceRules, url_reasons
from servers.images.domain.well_known import SHIPPED, catalogue_merged, well_known_read

ENTRY = '[mine]\nname = "Mine"\nurl = "https://example.org/a.qcow2"\ndisk_format = "qcow2"\n'


def test_shipped_catalogue_is_right_and_each_entry_can_be_imported_and_checked():
    found, hidden = well_known_read(SHIPPED.read_text(), where="shipped")
    assert {"debian-12", "debian-13", "ubuntu-24-04", "fedora-41", "cirros-0-6"} <= set(found)
    assert hidden == set()
    rules = SourceRules(("https",), (), (443,), ())
    for image in found.values():
        assert url_reasons(image.url, rules) == []
        assert bool(image.checksum) != bool(image.checksum_url)
        assert image.checksum_url == "" or url_reasons(image.checksum_url, rules) == []


def test_own_file_adds_replaces_and_hides():
    shipped = well_known_read(SHIPPED.read_text(), where="shipped")
    own = well_known_read(
        ENTRY
        + '[debian-12]\nname = "Ours"\nurl = "https://example.org/d"\ndisk_format = "raw"\n'
        + "[cirros-0-6]\nhidden = true\n",
        where="own",
    )
    merged = {image.key: image.name for image in catalogue_merged(shipped, own)}
    assert (merged["mine"], merged["debian-12"]) == ("Mine", "Ours")
    assert "cirros-0-6" not in merged
    assert "debian-13" in merged


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[mine", "is no TOML"),
        ("mine = 1", "mine: must be a table"),
        ('[mine]\nname = "x"', "url and disk_format must be there"),
        (ENTRY + "colour = 1", "there is no colour"),
        (ENTRY + 'checksum = "md5:1"', "checksum: Must be sha256"),
        (ENTRY.replace('qcow2"\n', 'iso"\n'), "disk_format: Is 'iso'"),
        (ENTRY + 'properties = { hw_disk_bus = "pata" }', "properties.hw_disk_bus"),
        (ENTRY.replace("[mine]", '["../mine"]'), "a key has small letters"),
        (ENTRY + f'checksum = "{"0" * 64}"\nchecksum_url = "https://x.org/"', "drop one"),
    ],
)
def test_mistake_is_named_with_file_and_entry(text, said):
    with pytest.raises(Invalid) as refused:
        well_known_read(text, where="own.toml")
    assert refused.value.message.startswith("own.toml")
    assert said in refused.value.message
