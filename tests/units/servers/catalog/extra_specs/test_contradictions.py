"""Pairs that no image can mend, each rule with the key that it is told at."""

import pytest

from servers.catalog.domain.extra_specs import contradictions


def findings(specs: dict[str, str], *, vcpus: int = 4, memory_mib: int = 4096) -> dict[str, str]:
    return dict(contradictions(specs, vcpus=vcpus, memory_mib=memory_mib))


PINNED = {"hw:cpu_policy": "dedicated"}
SHARED = {"hw:cpu_policy": "shared"}
MIXED = {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0-1"}


@pytest.mark.parametrize(
    "specs",
    [
        {},
        PINNED,
        SHARED,
        MIXED,
        {"hw:cpu_policy": "mixed", "hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "^0"},
        PINNED | {"hw:cpu_thread_policy": "isolate", "hw:emulator_threads_policy": "isolate"},
        {"hw:cpu_thread_policy": "isolate"},  # an image may name the CPU policy
        {"hw:emulator_threads_policy": "isolate"},
        {"hw:cpu_dedicated_mask": "0-1"},
        PINNED | {"hw:cpu_realtime": "yes"},  # an image may give the mask
        SHARED | {"hw:emulator_threads_policy": "share"},
        {"resources:PCPU": "4"},
        {"resources:VCPU": "2"},
        {"resources1:PCPU": "2", "resources2:PCPU": "2", "group_policy": "none"},
        {"resources:PCPU": "5", "hw:emulator_threads_policy": "isolate"},
        {"resources:PCPU": "4", "trait:HW_CPU_HYPERTHREADING": "required"},
        PINNED | {"resources:VCPU": "0"},
        {"hw:numa_nodes": "2"},
        {"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-3", "hw:numa_mem.0": "4096"},
        {"hw:numa_cpus.0": "0-3", "hw:numa_mem.0": "4096", "hw:mem_page_size": "large"},
        {"hw:mem_page_size": "2MB", "hw:locked_memory": "yes"},
        {"hw:mem_page_size": "1GB", "hw:numa_nodes": "4"},
        {"hw:locked_memory": "no"},
        {"hw:tpm_model": "tpm-crb", "hw:tpm_version": "2.0"},
        {"hw:tpm_model": "tpm-crb"},
        {"hw:cpu_max_sockets": "1", "hw:cpu_max_threads": "2"},
        {"resources1:VGPU": "1", "trait1:CUSTOM_FAST": "required"},
        {"resources1:VGPU": "1", "resources2:VGPU": "1", "group_policy": "isolate"},
        {"trait:CUSTOM_FAST": "forbidden", "os:secure_boot": "required"},
    ],
)  # fmt: skip
def test_pairs_that_go_together_are_left_alone(specs):
    assert findings(specs) == {}


@pytest.mark.parametrize("name", ["VCPU", "PCPU"])
@pytest.mark.parametrize("group", ["", "1", "_gpu"])
@pytest.mark.parametrize("policy", [PINNED, SHARED, MIXED])
def test_explicit_cpus_beside_a_cpu_policy_are_refused(name, group, policy):
    key = f"resources{group}:{name}"
    assert f"cannot go with hw:cpu_policy={policy['hw:cpu_policy']}" in findings(policy | {key: "4"})[key]


def test_vcpu_beside_pcpu_is_refused():
    assert "cannot go with resources:VCPU" in findings({"resources:PCPU": "4", "resources:VCPU": "1"})["resources:PCPU"]


@pytest.mark.parametrize("amount", ["3", "5"])
def test_pcpu_must_equal_the_vcpus(amount):
    assert f"asks for {amount} dedicated CPUs; it must be 4" in findings({"resources:PCPU": amount})["resources:PCPU"]


def test_pcpu_must_have_one_more_for_isolated_emulator_threads():
    specs = {"resources:PCPU": "4", "hw:emulator_threads_policy": "isolate"}
    assert "it must be 5" in findings(specs)["resources:PCPU"]


def test_pcpu_is_added_up_over_its_groups():
    specs = {"resources1:PCPU": "2", "resources2:PCPU": "1", "group_policy": "none"}
    assert "asks for 3 dedicated CPUs" in findings(specs)["resources1:PCPU"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hw:cpu_thread_policy", "prefer"),
        ("hw:emulator_threads_policy", "isolate"),
        ("hw:cpu_dedicated_mask", "0"),
        ("hw:cpu_realtime", "yes"),
        ("trait:HW_CPU_HYPERTHREADING", "required"),
        ("trait:HW_CPU_HYPERTHREADING", "forbidden"),
    ],
)
@pytest.mark.parametrize("shared", [SHARED, {"resources:VCPU": "4"}])
def test_shared_cpus_refuse_what_needs_dedicated_ones(key, value, shared):
    assert "needs dedicated CPUs" in findings(shared | {key: value})[key]


@pytest.mark.parametrize("dedicated", [PINNED, {"resources:PCPU": "4"}])
def test_dedicated_mask_with_all_cpus_dedicated_is_refused(dedicated):
    found = findings(dedicated | {"hw:cpu_dedicated_mask": "0-1"})
    assert "goes with hw:cpu_policy=mixed only" in found["hw:cpu_dedicated_mask"]


def test_mixed_without_mask_and_realtime_is_refused():
    assert "mixed needs hw:cpu_dedicated_mask or" in findings({"hw:cpu_policy": "mixed"})["hw:cpu_policy"]


def test_mixed_with_mask_and_realtime_is_refused():
    assert "cannot go with hw:cpu_realtime" in findings(MIXED | {"hw:cpu_realtime": "1"})["hw:cpu_dedicated_mask"]


@pytest.mark.parametrize(
    ("mask", "part"),
    [("0-3", "names all of 4"), ("0,^0", "names none of 4"), ("^0-3", "names none of 4"), ("2,4", "names CPU 4")],
)
def test_dedicated_mask_is_a_proper_part_of_the_vcpus(mask, part):
    assert part in findings({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": mask})["hw:cpu_dedicated_mask"]


@pytest.mark.parametrize(
    ("mask", "part"),
    [("0-3", "leaves no vCPU without realtime"), ("^0-3", "names none of 4"), ("1,7", "names CPU 7")],
)
def test_realtime_mask_is_a_part_of_the_vcpus(mask, part):
    specs = PINNED | {"hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": mask}
    assert part in findings(specs)["hw:cpu_realtime_mask"]


def test_all_vcpus_are_realtime_only_beside_an_emulator_policy():
    specs = PINNED | {"hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "0-3", "hw:emulator_threads_policy": "share"}
    assert findings(specs) == {}


def test_realtime_mask_without_realtime_is_not_used_and_not_judged():
    assert findings({"hw:cpu_realtime_mask": "0-99"}) == {}


@pytest.mark.parametrize("group", ["", "1"])
def test_trait_of_hyperthreading_beside_a_thread_policy_is_refused(group):
    key = f"trait{group}:HW_CPU_HYPERTHREADING"
    specs = PINNED | {"hw:cpu_thread_policy": "isolate", key: "required"}
    assert any(
        "cannot go with hw:cpu_thread_policy=isolate" in text
        for _, text in contradictions(specs, vcpus=4, memory_mib=4)
    )


@pytest.mark.parametrize(("vcpus", "memory_mib"), [(3, 4096), (4, 4095), (3, 4095)])
def test_nodes_that_do_not_divide_the_flavor_are_refused(vcpus, memory_mib):
    found = findings({"hw:numa_nodes": "2"}, vcpus=vcpus, memory_mib=memory_mib)
    assert "cannot be split evenly over 2 nodes" in found["hw:numa_nodes"]


@pytest.mark.parametrize("present", ["hw:numa_cpus.0", "hw:numa_cpus.1", "hw:numa_mem.0", "hw:numa_mem.1"])
def test_list_of_one_node_demands_all_lists(present):
    lists = {"hw:numa_cpus.0", "hw:numa_cpus.1", "hw:numa_mem.0", "hw:numa_mem.1"}
    assert set(findings({"hw:numa_nodes": "2", present: "1"})) == lists - {present}


def test_list_of_a_node_too_many_is_refused():
    specs = {"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-3", "hw:numa_mem.0": "4096", "hw:numa_mem.1": "1"}
    assert findings(specs) == {"hw:numa_mem.1": "hw:numa_mem.1: there are 1 nodes, counted from 0."}


def nodes(first: str, second: str, *memory: int) -> dict[str, str]:
    sizes = {f"hw:numa_mem.{node}": str(size) for node, size in enumerate(memory or (2048, 2048))}
    return {"hw:numa_nodes": "2", "hw:numa_cpus.0": first, "hw:numa_cpus.1": second, **sizes}


def test_cpu_in_two_nodes_is_refused():
    assert "CPU 1 is in another node" in findings(nodes("0-1", "1-3"))["hw:numa_cpus.1"]


def test_cpu_beyond_the_flavor_is_refused():
    assert "names CPU 4" in findings(nodes("0-1", "2-4"))["hw:numa_cpus.1"]


def test_cpu_in_no_node_is_refused():
    assert "CPU 1-2 of 4 is in none of the 2 nodes" in findings(nodes("0", "3"))["hw:numa_cpus.0"]


def test_memory_of_nodes_must_add_up():
    assert "adds up to 4097 MB; the flavor has 4096 MB" in findings(nodes("0-1", "2-3", 2048, 2049))["hw:numa_mem.0"]


@pytest.mark.parametrize(
    ("size", "part"),
    [
        ("0", "is no page size"),
        ("7bit", "is no page size"),
        ("3MB", "whole number of pages"),
        ("3M", "of pages of 3072"),
    ],
)
def test_page_size_that_no_memory_is_made_of_is_refused(size, part):
    assert part in findings({"hw:mem_page_size": size})["hw:mem_page_size"]


def test_pages_that_fill_each_node_are_fine():
    assert findings(nodes("0-1", "2-3", 1024, 3072) | {"hw:mem_page_size": "1GB"}) == {}


def test_pages_must_fill_each_node():
    found = findings(nodes("0-1", "2-3", 3072, 1536) | {"hw:mem_page_size": "1GB"}, memory_mib=4608)
    assert "1536 MB of memory are not a whole number of pages" in found["hw:mem_page_size"]


def test_locked_memory_without_a_page_size_is_refused():
    assert findings({"hw:locked_memory": "yes"}) == {"hw:locked_memory": "hw:locked_memory: needs hw:mem_page_size."}


def test_newer_tpm_interface_of_an_old_version_is_refused():
    assert (
        "tpm-crb goes with hw:tpm_version=2.0 only"
        in findings({"hw:tpm_model": "tpm-crb", "hw:tpm_version": "1.2"})["hw:tpm_model"]
    )


@pytest.mark.parametrize(
    "maxima", [{"sockets": "3", "cores": "1", "threads": "1"}, {"sockets": "1", "cores": "3", "threads": "1"}]
)
def test_maxima_that_cannot_make_the_vcpus_are_refused(maxima):
    specs = {f"hw:cpu_max_{part}": maximum for part, maximum in maxima.items()}
    assert "make 4 vCPUs" in findings(specs)["hw:cpu_max_sockets"]


def test_prime_number_of_vcpus_needs_one_large_maximum():
    specs = {"hw:cpu_max_sockets": "6", "hw:cpu_max_cores": "6", "hw:cpu_max_threads": "6"}
    assert "make 7 vCPUs" in findings(specs, vcpus=7, memory_mib=1)["hw:cpu_max_sockets"]


def test_group_of_traits_alone_is_refused():
    assert "group 1 asks for no resources" in findings({"trait1:CUSTOM_FAST": "required"})["trait1:CUSTOM_FAST"]


def test_group_whose_resources_were_taken_out_asks_for_none():
    specs = {"trait1:CUSTOM_FAST": "required", "resources1:VGPU": "0"}
    assert "group 1 asks for no resources" in findings(specs)["trait1:CUSTOM_FAST"]


def test_two_groups_without_a_policy_are_refused():
    found = findings({"resources1:VGPU": "1", "resources_net:CUSTOM_BW": "1"})
    assert "the groups 1, _net need none or isolate" in found["group_policy"]


@pytest.mark.parametrize(
    ("specs", "trait"),
    [
        ({"os:secure_boot": "required"}, "COMPUTE_SECURITY_UEFI_SECURE_BOOT"),
        ({"hw:maxphysaddr_mode": "passthrough"}, "COMPUTE_ADDRESS_SPACE_PASSTHROUGH"),
        ({"hw:maxphysaddr_mode": "emulate"}, "COMPUTE_ADDRESS_SPACE_EMULATED"),
        ({"hw:tpm_version": "1.2"}, "COMPUTE_SECURITY_TPM_1_2"),
        ({"hw:tpm_version": "2.0"}, "COMPUTE_SECURITY_TPM_2_0"),
        ({"hw:tpm_version": "2.0", "hw:tpm_model": "tpm-tis"}, "COMPUTE_SECURITY_TPM_TIS"),
        ({"hw:tpm_version": "2.0", "hw:tpm_model": "tpm-crb"}, "COMPUTE_SECURITY_TPM_CRB"),
        ({"hw:pci_numa_affinity_policy": "socket"}, "COMPUTE_SOCKET_PCI_NUMA_AFFINITY"),
        ({"hw:mem_encryption": "yes", "hw:mem_encryption_model": "amd-sev"}, "HW_CPU_X86_AMD_SEV"),
        ({"hw:mem_encryption": "yes", "hw:mem_encryption_model": "amd-sev-es"}, "HW_CPU_X86_AMD_SEV_ES"),
    ],
)
def test_trait_that_another_key_requires_cannot_be_forbidden(specs, trait):
    key = f"trait:{trait}"
    assert "is forbidden, and hw:" in findings(specs | {key: "forbidden"})[key].replace("os:", "hw:")
    assert findings(specs | {key: "required"}) == {}


def test_pairs_that_are_wrong_by_themselves_are_not_held_against_others():
    assert findings({"hw:cpu_policy": "shraed", "hw:cpu_thread_policy": "isolate"}) == {}


def test_flavor_of_countless_vcpus_is_judged_at_once():
    specs = {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0", "hw:cpu_max_cores": "5"}
    assert findings(specs, vcpus=2**31 - 1, memory_mib=2**31 - 1) == {}
