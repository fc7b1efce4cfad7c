"""One OVN with two hosts and four guests for all tests here."""

from collections.abc import Iterator

import pytest

from tests.fixtures.ovn import missing_for_ovn, ovn_site
from tests.worlds.ovn import LEASE_SCRIPT, OvnWorld, until


@pytest.fixture(scope="session")
def ovn_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OvnWorld]:
    if missing := missing_for_ovn():
        pytest.skip(missing)
    script = tmp_path_factory.mktemp("lease") / "lease.sh"
    script.write_text(LEASE_SCRIPT)
    script.chmod(0o755)
    site = ovn_site()
    try:
        found = OvnWorld(site, script)
        until(lambda: all(found.ups.get(name) for name in found.guests), 30)
        for name, guest in found.guests.items():
            network, last = name[0], {"a1": 11, "a2": 12, "b1": 12, "b2": 13}[name]
            guest.address(f"10.9.0.{last}/24", "10.9.0.1" if network == "a" else "")
        yield found
        found.northbound.close()
    finally:
        site.close()
