import pytest

from controlplane.kernel.reasons import Refusal, RefusalReason


@pytest.mark.parametrize("reason", list(RefusalReason))
def test_every_reason_has_a_sentence_that_is_not_its_code(reason: RefusalReason) -> None:
    sentence = Refusal(reason, wanted=1, available=0, detail="detail").sentence()
    assert sentence
    assert "{" not in sentence
    assert sentence != reason.value


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        (
            Refusal(RefusalReason.RAM_SHORT, wanted=4096, available=1900, unit="MB", total=8192, ratio=1.5),
            "memory: wants 4 GiB, has 1,900 MiB of 8 GiB after 1.5x",
        ),
        (Refusal(RefusalReason.VCPU_SHORT, wanted=4, available=2, total=8, ratio=1.0), "vCPUs: wants 4, has 2 of 8"),
        (Refusal(RefusalReason.DISK_SHORT, wanted=4, available=0, unit="GB"), "disk: wants 4 GiB, has 0 GiB"),
        (
            Refusal(RefusalReason.RESOURCE_SHORT, wanted=1, available=0, detail="CUSTOM_GPU"),
            "CUSTOM_GPU: wants 1, has 0",
        ),
        (Refusal(RefusalReason.DISABLED, detail="new disks"), "the compute service is disabled (new disks)"),
        (Refusal(RefusalReason.DOWN), "the compute service is down"),
        (Refusal(RefusalReason.IO_OPS, wanted=8, available=9), "has 9 of at most 8 heavy operations under way"),
        (Refusal(RefusalReason.NUM_INSTANCES, wanted=1, available=1), "holds 1 of at most 1 instance"),
        (Refusal(RefusalReason.NUM_INSTANCES, wanted=2, available=2), "holds 2 of at most 2 instances"),
        (Refusal(RefusalReason.IO_OPS, wanted=1, available=1), "has 1 of at most 1 heavy operation under way"),
        (Refusal(RefusalReason.PCI_SHORT, wanted=1, available=0, detail="gpu"), "wants 1 PCI device, 0 free (gpu)"),
        (Refusal(RefusalReason.PCI_SHORT, wanted=2, available=1), "wants 2 PCI devices, 1 free"),
        (
            Refusal(RefusalReason.GROUP_ANTI_AFFINITY, wanted=1, available=1),
            "holds 1 of the server group, at most 1 allowed",
        ),
    ],
)
def test_sentence_has_the_numbers(refusal: Refusal, sentence: str) -> None:
    assert refusal.sentence() == sentence


def test_every_reason_has_a_label_and_says_what_one_host_and_many_do() -> None:
    for reason in RefusalReason:
        assert reason.label
        assert reason.of_hosts(1) != reason.of_hosts(2), reason
    assert RefusalReason.PINNED_CPU_SHORT.label == "no free pinned CPUs"


def test_object_is_named_where_there_is_one() -> None:
    assert RefusalReason.TRAIT_MISSING.of_hosts(40, "trait CUSTOM_GPU") == "lack trait CUSTOM_GPU"
    assert RefusalReason.TRAIT_MISSING.of_hosts(1) == "lacks a trait"
    assert RefusalReason.RAM_SHORT.of_hosts(1, "anything") == "lacks memory"


def test_amounts_that_round_alike_are_told_apart() -> None:
    refusal = Refusal(RefusalReason.RAM_SHORT, wanted=512000, available=511999, unit="MB")
    assert refusal.sentence() == "memory: wants 512,000 MiB, has 511,999 MiB"
