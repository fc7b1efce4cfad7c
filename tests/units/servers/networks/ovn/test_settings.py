"""Settings of OVN that cannot work are known before anything is started."""

from pathlib import Path

import pytest

from scheduling.conf import SchedulingOptions
from servers.checks import ovn_problems, routed_network_problems
from servers.conf import OvnOptions


def test_tls_needs_three_files(tmp_path: Path) -> None:
    there = tmp_path / "file.pem"
    there.touch()
    found = ovn_problems(OvnOptions(ovn_northbound="ssl:192.0.2.10:6641", ovn_certificate=str(there)))
    assert [one.msg.split(" ")[0] for one in found] == ["OVN_PRIVATE_KEY", "OVN_CA_CERTIFICATE"]
    assert {one.id for one in found} == {"servers.E004"}


def test_projects_cannot_have_networks_that_nothing_carries() -> None:
    assert [one.id for one in ovn_problems(OvnOptions(), "ovn")] == ["servers.E005"]
    assert ovn_problems(OvnOptions(ovn_northbound="unix:/run/ovn/ovnnb_db.sock"), "ovn") == []


@pytest.mark.parametrize(
    ("address", "ids"), [("", []), ("unix:/run/ovn/ovnnb_db.sock", []), ("tcp:192.0.2.10:6641", ["servers.W003"])]
)
def test_others(address: str, ids: list[str]) -> None:
    assert [one.id for one in ovn_problems(OvnOptions(ovn_northbound=address))] == ids


def test_who_asks_for_segments_is_told_that_there_are_none() -> None:
    assert routed_network_problems(SchedulingOptions()) == []
    (said,) = routed_network_problems(SchedulingOptions(query_placement_for_routed_network_aggregates=True))
    assert (said.id, "have no segments" in said.msg) == ("servers.W004", True)
