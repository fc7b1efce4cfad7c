"""Rules of security groups: one form for all that say the same, and one key for each form."""

import ipaddress
import uuid
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from computeagent.protocol.networks import Direction
from servers.networks.domain.rules import (
    ALIASES,
    PROTOCOLS,
    RuleRequest,
    rule_canonical,
    rule_key,
    rule_problems,
    rule_sentence,
)

GROUPS = [uuid.UUID(int=1), uuid.UUID(int=2)]
protocols = st.one_of(
    st.sampled_from([*PROTOCOLS, *ALIASES, "", "TCP", "Udp"]), st.integers(0, 255).map(str), st.text(max_size=4)
)
cidrs = st.one_of(
    st.just(""),
    st.tuples(st.ip_addresses(), st.integers(0, 128)).map(lambda pair: f"{pair[0]}/{pair[1]}"),
)
rules = st.builds(
    RuleRequest,
    direction=st.sampled_from(list(Direction)).map(str),
    ip_version=st.sampled_from([4, 6]),
    protocol=protocols,
    port_min=st.one_of(st.none(), st.integers(-1, 70000)),
    port_max=st.one_of(st.none(), st.integers(-1, 70000)),
    remote_cidr=cidrs,
    remote_group_id=st.one_of(st.none(), st.sampled_from(GROUPS)),
)
valid = rules.filter(lambda rule: not rule_problems(rule))


@given(valid)
def test_canonical_form_is_its_own_and_fits_its_column(rule: RuleRequest) -> None:
    once = rule_canonical(rule)
    assert rule_canonical(once) == once
    assert len(rule_key(once)) <= 200
    assert rule_sentence(once).startswith(("Lets in ", "Lets out "))


# Most that is drawn is no rule.
@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(valid, valid)
def test_two_rules_have_one_key_only_if_they_say_the_same(one: RuleRequest, other: RuleRequest) -> None:
    first, second = rule_canonical(one), rule_canonical(other)
    assert (rule_key(first) == rule_key(second)) == (first == second)


@given(valid, st.integers(0, 2**128 - 1))
def test_host_bits_spelling_and_description_change_no_key(rule: RuleRequest, bits: int) -> None:
    key = rule_key(rule_canonical(rule))
    spelt = replace(rule, protocol=f" {rule.protocol.upper()} ", description="other words")
    if rule.remote_cidr:
        network = ipaddress.ip_network(rule.remote_cidr, strict=False)
        spelt = replace(spelt, remote_cidr=f"{network[bits % network.num_addresses]}/{network.prefixlen}")
    if rule.protocol.lower() in PROTOCOLS:
        spelt = replace(spelt, protocol=str(PROTOCOLS[rule.protocol.lower()]))
    assert rule_key(rule_canonical(spelt)) == key


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (
            RuleRequest("ingress", protocol="tcp", port_min=22, port_max=22, remote_cidr="10.0.0.7/8"),
            "Lets in TCP port 22 from 10.0.0.0/8.",
        ),
        (
            RuleRequest("ingress", protocol="17", port_min=80, port_max=90),
            "Lets in UDP ports 80 to 90 from anywhere (IPv4).",
        ),
        (RuleRequest("egress", 6), "Lets out everything to anywhere (IPv6)."),
        (
            RuleRequest("ingress", protocol="icmp", port_min=8, port_max=0),
            "Lets in ICMP of type 8 and code 0 from anywhere (IPv4).",
        ),
        (RuleRequest("ingress", 6, "icmp", remote_cidr="::/0"), "Lets in ICMPv6 from anywhere (IPv6)."),
        (RuleRequest("ingress", remote_group_id=GROUPS[0]), "Lets in everything from the group web (IPv4)."),
        (
            RuleRequest("egress", protocol="200", remote_cidr="192.0.2.1/32"),
            "Lets out IP protocol 200 to 192.0.2.1/32.",
        ),
    ],
)
def test_rules_read_as_sentences(rule: RuleRequest, sentence: str) -> None:
    assert rule_sentence(rule_canonical(rule), group_name="web") == sentence


@pytest.mark.parametrize(
    ("rule", "field", "reason"),
    [
        (RuleRequest("sideways"), "direction", "must be one of ingress, egress"),
        (RuleRequest("ingress", 5), "ip_version", "must be 4 or 6"),
        (RuleRequest("ingress", protocol="256"), "protocol", "from 0 to 255"),
        (RuleRequest("ingress", protocol="ipv6-icmp"), "protocol", "of IPv6"),
        (RuleRequest("ingress", protocol="tcp", port_min=22), "port_min", "go together"),
        (RuleRequest("ingress", protocol="tcp", port_min=0, port_max=22), "port_min", "the least is 1"),
        (RuleRequest("ingress", protocol="tcp", port_min=23, port_max=22), "port_min", "above the last one"),
        (RuleRequest("ingress", protocol="tcp", port_min=1, port_max=65536), "port_min", "the most is 65535"),
        (RuleRequest("ingress", port_min=22, port_max=22), "port_min", "Ports go with"),
        (RuleRequest("ingress", protocol="icmp", port_max=0), "port_min", "with a type only"),
        (RuleRequest("ingress", protocol="icmp", port_min=256), "port_min", "the most is 255"),
        (RuleRequest("ingress", remote_cidr="10.0.0.0/33"), "remote_cidr", "no network"),
        (RuleRequest("ingress", remote_cidr="fe80::1%eth0/64"), "remote_cidr", "no network"),
        (RuleRequest("ingress", remote_cidr="fd00::/8"), "remote_cidr", "of IPv6, and the rule is of IPv4"),
        (RuleRequest("ingress", remote_cidr="10.0.0.0/8", remote_group_id=GROUPS[0]), "remote_cidr", "not both"),
    ],
)
def test_refusals_name_field_and_reason(rule: RuleRequest, field: str, reason: str) -> None:
    assert reason in rule_problems(rule)[field][0]
