from dataclasses import replace

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.filters.trusted import TrustedFilter
from tests.units.scheduling.worlds import host, refused, request, table

FLEET = table(
    host("good", trust_level="trusted"),
    host("bad", trust_level="untrusted"),
    host("silent"),
)


@pytest.mark.parametrize(
    ("wanted", "refused_hosts"),
    [
        ({"trust:trusted_host": "trusted"}, {"bad", "silent"}),
        ({"trust:trusted_host": "untrusted"}, {"good", "silent"}),
        ({"trust:trusted_host": "Trusted"}, {"good", "bad", "silent"}),
        ({"trust:trusted_host": ""}, set()),
        ({}, set()),
    ],
)
def test_level_must_be_the_one_asked_for(wanted: dict[str, str], refused_hosts: set[str]) -> None:
    assert set(refused(TrustedFilter(), FLEET, request(specs=wanted))) == refused_hosts


def test_host_nobody_attests_is_unknown() -> None:
    refusal = refused(TrustedFilter(), FLEET, request(specs={"trust:trusted_host": "trusted"}))["silent"]
    assert (refusal.reason, refusal.available) == (RefusalReason.TRUST_LEVEL, "unknown")


def test_levels_of_a_moment_replace_those_of_the_table() -> None:
    later = replace(
        FLEET, trust_levels=table(*(host(name, trust_level="trusted") for name in FLEET.hosts)).trust_levels
    )
    assert refused(TrustedFilter(), later, request(specs={"trust:trusted_host": "trusted"})) == {}
