"""The small namespaces, keys compared with hosts, quota, and keys that are nobody's."""

import pytest

from servers.catalog.domain.extra_specs import EXTRA_SPEC_RULES, KNOWN_NAMESPACES, extra_spec_complaint, rule_of
from servers.catalog.domain.extra_specs.match_keys import NESTED_CAPABILITIES, PLAIN_CAPABILITIES


def test_namespaces_are_those_of_nova():
    assert {
        "accel", "aggregate_instance_extra_specs", "capabilities", "hw", "hw_rng", "hw_video", "os", "pci_passthrough",
        "quota", "resources", "trait", "vmware",
    } == KNOWN_NAMESPACES  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("accel:device_profile", "fpga-2"),
        ("hw_rng:allowed", "True"),
        ("hw_rng:rate_bytes", "0"),
        ("hw_rng:rate_period", "100"),
        ("hw_video:ram_max_mb", "64"),
        ("os:secure_boot", "required"),
        ("os:secure_boot", "disabled"),
        ("vmware:hw_version", "vmx-13"),
        ("vmware:storage_policy", "gold"),
        ("hide_hypervisor_id", "yes"),
    ],
)
def test_key_of_a_small_namespace_is_taken(key, value):
    assert extra_spec_complaint(key, value) == ""


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("accel:device_profile", "", "some text"),
        ("hw_rng:allowed", "sure", "yes or no"),
        ("hw_rng:rate_bytes", "-1", "at least 0"),
        ("hw_rng:rate_period", "x", "at least 0"),
        ("hw_video:ram_max_mb", "-5", "at least 0"),
        ("os:secure_boot", "optional", "one of disabled, required"),
        ("vmware:hw_version", "", "some text"),
        ("hide_hypervisor_id", "maybe", "yes or no"),
    ],
)
def test_bad_value_of_a_small_namespace_is_refused(key, value, allowed):
    reported = extra_spec_complaint(key, value)
    assert reported.startswith(f"{key}: is {value!r}; it must be ")
    assert allowed in reported


@pytest.mark.parametrize("value", ["gpu:1", "gpu card:1", "gpu card:1, 100 G nic:2", "gpu:1 , nic:2", "a1:65"])
def test_pci_aliases_are_taken(value):
    assert extra_spec_complaint("pci_passthrough:alias", value) == ""


@pytest.mark.parametrize("value", ["gpu", "gpu:", ":1", "gpu:0", "gpu:-1", "gpu:x", "gpu:1,", "gpu:1;nic:2", "gpu :1"])
def test_what_is_no_list_of_aliases_is_refused(value):
    assert "name:count" in extra_spec_complaint("pci_passthrough:alias", value)


TUNED = [
    *(f"quota:cpu_{part}" for part in ("shares", "period")),
    *(f"quota:disk_{way}_{what}_sec" for way in ("read", "write", "total") for what in ("bytes", "iops")),
    *(f"quota:vif_{way}_{rate}" for way in ("inbound", "outbound") for rate in ("average", "peak", "burst")),
    *(f"quota:{part}_{what}" for part in ("cpu", "memory", "disk_io", "vif") for what in ("limit", "shares_share")),
]


@pytest.mark.parametrize("key", TUNED)
def test_quota_is_a_number_from_0(key):
    assert extra_spec_complaint(key, "0") == extra_spec_complaint(key, "1000") == ""
    assert "a whole number of at least 0" in extra_spec_complaint(key, "-1")


@pytest.mark.parametrize("key", ["quota:cpu_quota", "quota:cpu_reservation", "quota:vif_reservation"])
def test_quota_that_may_be_below_0_is_any_number(key):
    assert extra_spec_complaint(key, "-1") == ""
    assert "a whole number." in extra_spec_complaint(key, "much")


@pytest.mark.parametrize("part", ["cpu", "memory", "disk_io", "vif"])
def test_level_of_shares_is_a_word(part):
    assert extra_spec_complaint(f"quota:{part}_shares_level", "custom") == ""
    assert "one of custom, high, normal, low" in extra_spec_complaint(f"quota:{part}_shares_level", "5")


@pytest.mark.parametrize(
    "key", ["capabilities:vcpus", "capabilities:cpu_info:features", "aggregate_instance_extra_specs:a:b"]
)
@pytest.mark.parametrize(
    "value",
    ["true", "= 5", "== 5.5", "!= 5", ">= 5", "<= 5", "s== 2.1.0", "s!= a", "s>= a", "s> a", "s<= a", "s< a",
     "<in> gcc", "<all-in> aes mmx", "<or> fpu", "<or> fpu <or> gpu", "5 or more", "<is> a word of its own"],
)  # fmt: skip
def test_requirement_of_each_operator_is_taken(key, value):
    assert extra_spec_complaint(key, value) == ""


@pytest.mark.parametrize(
    "value", [">= five", "=", "== ", "s==", "<in>", "<all-in>", "<or>", "<or> a b", "<or> a <or>", ""]
)
def test_requirement_that_nothing_can_satisfy_is_refused(value):
    reported = extra_spec_complaint("capabilities:vcpus", value)
    assert reported.startswith("capabilities:vcpus: is ")
    assert "<all-in> with several" in reported


@pytest.mark.parametrize("name", PLAIN_CAPABILITIES)
def test_capability_is_known(name):
    assert extra_spec_complaint(f"capabilities:{name}", "1") == ""


@pytest.mark.parametrize("name", NESTED_CAPABILITIES)
def test_capability_with_fields_is_known(name):
    assert extra_spec_complaint(f"capabilities:{name}:some:field", "1") == ""


def test_unknown_capability_is_refused_with_the_nearest():
    assert extra_spec_complaint("capabilities:free_ram", "1").endswith("Did you mean capabilities:free_ram_mb?")


def test_plain_capability_leads_nowhere():
    assert "is not a key of the namespace capabilities" in extra_spec_complaint("capabilities:vcpus:cores", "1")


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("hw:cpu_polcy", "hw:cpu_policy"),
        ("hw:cpu_realtime_maskk", "hw:cpu_realtime_mask"),
        ("hw:numa_cpu.3", "hw:numa_cpus.0"),
        ("quota:cpu_share", "quota:cpu_shares"),
        ("os:secureboot", "os:secure_boot"),
        ("pci_passthrough:aliases", "pci_passthrough:alias"),
        ("hw_rng:rate_byte", "hw_rng:rate_bytes"),
    ],
)
def test_misspelt_key_gets_the_nearest_one_suggested(key, nearest):
    namespace = key.partition(":")[0]
    reported = extra_spec_complaint(key, "1")
    assert reported == f"{key}: is not a key of the namespace {namespace}. Did you mean {nearest}?"


def test_key_that_is_near_to_none_is_refused_without_a_suggestion():
    assert extra_spec_complaint("hw:zzz", "1") == "hw:zzz: is not a key of the namespace hw."


@pytest.mark.parametrize(
    "key",
    [
        "mine",
        "mycompany:rack",
        "hw_cpu_policy",
        "hhw:cpu_policy",
        "w:cpu_policy",
        "powervm:min_mem",
        "hyperv:x",
        "Hw:x",
    ],
)
def test_key_outside_the_known_namespaces_is_taken_as_it_is(key):
    assert extra_spec_complaint(key, "anything") == ""


@pytest.mark.parametrize("rule", EXTRA_SPEC_RULES, ids=lambda rule: rule.key)
def test_each_rule_says_what_is_allowed_and_what_it_means(rule):
    assert rule.allowed.words
    assert rule.meaning.endswith(".")
    assert rule_of(rule.key.replace("{group}", "").replace("{fields}", "").replace("{node}", "0")) is rule


@pytest.mark.parametrize("value", [">=1", "==2", "!=2", "=3", "<=4 ", "s==x", "s>=x", "<in>x", "<or>x", "<all-in>x y"])
@pytest.mark.parametrize("key", ["capabilities:vcpus", "aggregate_instance_extra_specs:ssd"])
def test_operator_without_its_space_would_never_match_and_is_refused(key, value):
    assert "an operator, a space" in extra_spec_complaint(key, value)


@pytest.mark.parametrize("value", [">= 1", "s== x", "<in> x", "ssd", "s", "true", "1", "a>=1"])
def test_operator_with_its_space_and_plain_values_are_taken(value):
    assert extra_spec_complaint("capabilities:vcpus", value) == ""
