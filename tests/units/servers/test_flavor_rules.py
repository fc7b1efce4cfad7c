import pytest

from servers.domain.extra_specs import extra_spec_reasons
from servers.domain.flavor_rules import flavor_problems


def test_fine_flavor_has_no_problems():
    fields = {
        "name": "m1.tiny",
        "vcpus": 1,
        "memory_mib": 64,
        "root_gib": 0,
        "extra_specs": {"hw:cpu_policy": "shared"},
    }
    assert flavor_problems(fields) == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "x" * 256),
        ("vcpus", 0),
        ("vcpus", -1),
        ("vcpus", 2**31),
        ("memory_mib", 0),
        ("memory_mib", 1.5),
        ("root_gib", -1),
        ("ephemeral_gib", None),
        ("swap_mib", "many"),
        ("is_public", "yes"),
        ("extra_specs", []),
        ("description", "x" * 1001),
    ],
)
def test_bad_value_is_refused_at_its_field(field, value):
    assert list(flavor_problems({field: value})) == [field]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("resources:VCPU", "2"),
        ("resources:CUSTOM_GOLD", "0"),
        ("resources1:VGPU", "1"),
        ("resources_gpu-1:VGPU", "1"),
        ("trait:HW_CPU_X86_AVX2", "required"),
        ("trait1:CUSTOM_FAST", "forbidden"),
        ("group_policy", "isolate"),
        ("hw:numa_cpus.3", "0-3,^2"),
        ("hw:mem_page_size", "2MB"),
        ("hw:cpu_realtime", "yes"),
        ("quota:cpu_quota", "-1"),
        ("quota:disk_total_iops_sec", "100"),
        ("aggregate_instance_extra_specs:ssd", "true"),
        ("capabilities:cpu_info:features", "<in> avx"),
        ("pci_passthrough:alias", "a1:2,b:1"),
        ("my_own_key", "anything"),
        ("mycompany:key", "anything"),
    ],
)
def test_known_and_foreign_keys_are_taken(key, value):
    assert extra_spec_reasons({key: value}) == []


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [
        ("resources:VCPUS", "2", "neither a standard resource class"),
        ("resources:VCPU", "-1", "a whole number from 0"),
        ("resources:VCPU", "two", "a whole number from 0"),
        ("resources:VCPU", "²", "a whole number from 0"),
        ("resources:", "1", "neither a standard resource class"),
        ("trait:HW_CPU_X86_AVX2", "maybe", "required or forbidden"),
        ("trait:FAST", "required", "neither a standard trait"),
        ("group_policy", "together", "isolate, none"),
        ("hw:cpu_policy", "mine", "dedicated, shared, mixed"),
        ("hw:cpu_polcy", "shared", "is not a key of the namespace hw"),
        ("hw:numa_nodes", "0", "from 1 to 128"),
        ("hw:numa_cpus.0", "a-b", "a list of CPUs"),
        ("os:secure_boot", "yes", "disabled, required"),
        ("quota:nonsense", "1", "is not a key of the namespace quota"),
        ("pci_passthrough:alias", "a1", "name:count"),
        ("hw:cpu_policy", 5, "Must be text"),
        ("hw:cpu_policy", "x" * 256, "at most 255"),
        ("a/b", "x", "1 to 255 letters"),
        ("", "x", "1 to 255 letters"),
        ("own", "nul\x00", "cannot be stored"),
    ],
)
def test_bad_extra_spec_is_refused_by_key(key, value, part):
    (reason,) = extra_spec_reasons({key: value})
    assert part in reason
    assert key in reason
