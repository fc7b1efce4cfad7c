"""resources, trait and group_policy: what each key may say."""

import pytest

from servers.catalog.domain.extra_specs import extra_spec_complaint


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("resources:VCPU", "2"),
        ("resources:VCPU", "0"),  # takes the class out
        ("resources:CUSTOM_GOLD", "1"),
        ("resources1:VGPU", "1"),
        ("resources_gpu-1:VGPU", "1"),
        (f"resources{'a' * 64}:VGPU", "1"),
        ("trait:HW_CPU_X86_AVX2", "required"),
        ("trait:HW_CPU_X86_AVX2", "forbidden"),
        ("trait1:CUSTOM_FAST", "required"),
        ("trait_gpu:CUSTOM_FAST", "forbidden"),
        ("group_policy", "isolate"),
        ("group_policy", "none"),
    ],
)
def test_key_of_placements_grammar_is_taken(key, value):
    assert extra_spec_complaint(key, value) == ""


@pytest.mark.parametrize("value", ["-1", "two", "", "1.5", "²", "2147483648", "1_000"])
def test_amount_that_is_no_whole_number_is_refused_with_the_range(value):
    reported = extra_spec_complaint("resources:VCPU", value)
    assert reported == f"resources:VCPU: is {value!r}; it must be a whole number from 0 to 2147483647."


@pytest.mark.parametrize("name", ["VCPUS", "vcpu", "", "CUSTOM_gold", "CUSTOM_", "CUSTOM_" + "A" * 249])
def test_unknown_resource_class_is_refused(name):
    assert "neither a standard resource class nor CUSTOM_" in extra_spec_complaint(f"resources:{name}", "1")


@pytest.mark.parametrize("name", ["FAST", "HW_CPU_X86_AVX22", "", "custom_fast"])
def test_unknown_trait_is_refused(name):
    assert "neither a standard trait nor CUSTOM_" in extra_spec_complaint(f"trait:{name}", "required")


def test_misspelt_class_gets_the_nearest_one_suggested():
    assert extra_spec_complaint("resources:MEMORY_MIB", "1").endswith("Did you mean MEMORY_MB?")


def test_misspelt_trait_gets_the_nearest_one_suggested():
    assert extra_spec_complaint("trait:HW_CPU_AVX2", "required").endswith("Did you mean HW_CPU_X86_AVX2?")


@pytest.mark.parametrize("value", ["maybe", "Required", "", "preferred"])
def test_trait_is_required_or_forbidden(value):
    reported = extra_spec_complaint("trait:HW_CPU_X86_AVX2", value)
    assert reported == f"trait:HW_CPU_X86_AVX2: is {value!r}; it must be one of required, forbidden."


def test_group_policy_is_one_of_two():
    assert "one of none, isolate" in extra_spec_complaint("group_policy", "together")


@pytest.mark.parametrize("key", ["resources/1:VCPU", f"resources{'a' * 65}:VCPU", "resource:VCPU", "mytrait:VCPU"])
def test_key_that_only_resembles_them_is_somebodys_own(key):
    assert extra_spec_complaint(key, "x") == ""


def test_whatever_begins_like_a_group_of_traits_is_one():
    # Nova's namespaces are resources and trait with any suffix, so this is group "s" of traits.
    assert "neither a standard trait" in extra_spec_complaint("traits:HW_CPU", "required")
