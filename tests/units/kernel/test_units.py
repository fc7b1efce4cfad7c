"""Amounts as people read them, wherever they are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.units import amount_text, amount_words, bytes_text, mib_text, size_text


@pytest.mark.parametrize(
    ("mib", "text"),
    [
        (0, "0 MiB"),
        (512, "512 MiB"),
        (1024, "1 GiB"),
        (1900, "1,900 MiB"),
        (4608, "4.5 GiB"),
        (260224, "254.1 GiB"),
        (2_560_000 * 1024, "2,500 TiB"),
        (20 * 1024**2, "20 TiB"),
    ],
)
def test_memory(mib: int, text: str) -> None:
    assert mib_text(mib) == text


def test_amounts_have_their_units() -> None:
    assert amount_text(99985, "VCPU") == "99,985"
    assert amount_words(2, "VCPU") == "2 vCPU"
    assert amount_words(4096, "MEMORY_MB") == "4 GiB of memory"
    assert amount_words(6, "DISK_GB") == "6 GiB of disk"
    assert amount_words(1, "CUSTOM_FPGA") == "1 CUSTOM_FPGA"
    assert size_text(vcpus=2, memory_mib=4096, root_gib=20) == "2 vCPU, 4 GiB memory, 20 GiB disk"
    assert (bytes_text(0), bytes_text(2.5 * 2**30)) == ("0 B", "2.5 GiB")


@given(st.integers(0, 2**40))
def test_no_memory_reads_without_its_unit(mib: int) -> None:
    number, unit = mib_text(mib).split(" ")
    assert unit in {"MiB", "GiB", "TiB"}
    assert float(number.replace(",", "")) >= 0
