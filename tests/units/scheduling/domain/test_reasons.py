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
            "ram: wants 4096 MB, has 1900 of 8192 after 1.5x",
        ),
        (Refusal(RefusalReason.VCPU_SHORT, wanted=4, available=2, total=8, ratio=1.0), "vcpu: wants 4, has 2 of 8"),
        (Refusal(RefusalReason.DISK_SHORT, wanted=4, available=0, unit="GB"), "disk: wants 4 GB, has 0"),
        (
            Refusal(RefusalReason.RESOURCE_SHORT, wanted=1, available=0, detail="CUSTOM_GPU"),
            "CUSTOM_GPU: wants 1, has 0",
        ),
        (Refusal(RefusalReason.DISABLED, detail="new disks"), "the compute service is disabled (new disks)"),
        (Refusal(RefusalReason.DOWN), "the compute service is down"),
        (
            Refusal(RefusalReason.IO_OPS, wanted=8, available=9),
            "has 9 heavy operations under way, fewer than 8 allowed",
        ),
    ],
)
def test_sentence_has_the_numbers(refusal: Refusal, sentence: str) -> None:
    assert refusal.sentence() == sentence


def test_label_is_the_code_in_words() -> None:
    assert RefusalReason.WRONG_ZONE.label == "wrong zone"
