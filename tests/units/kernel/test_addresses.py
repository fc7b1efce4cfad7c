"""Which addresses a webhook may reach."""

import pytest

from controlplane.kernel.addresses import addresses_resolve, is_allowed

INSIDE = [
    "127.0.0.1", "127.8.8.8", "0.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254",
    "224.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
    "64:ff9b::a9fe:a9fe", "2002:7f00:0001::", "2002:a00:1::1",
]  # fmt: skip


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_inside_are_refused(address: str) -> None:
    assert not is_allowed(address, allowed_networks=())


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1"])
def test_public_addresses_are_allowed(address: str) -> None:
    assert is_allowed(address, allowed_networks=())


def test_networks_that_settings_name_are_allowed_and_their_neighbours_are_not() -> None:
    assert is_allowed("10.1.2.3", allowed_networks=("192.168.0.0/16", "10.1.0.0/16"))
    assert is_allowed("::ffff:10.1.2.3", allowed_networks=("10.1.0.0/16",))
    assert not is_allowed("10.2.2.3", allowed_networks=("10.1.0.0/16",))


def test_name_is_judged_by_what_it_resolves_to() -> None:
    with pytest.raises(PermissionError, match="NOTIFICATION_ALLOWED_NETWORKS"):
        addresses_resolve("localhost", 80, allowed_networks=(), setting="NOTIFICATION_ALLOWED_NETWORKS")
    found = addresses_resolve("localhost", 80, allowed_networks=("127.0.0.0/8", "::1"), setting="X")
    assert set(found) <= {"127.0.0.1", "::1"}
    assert found
