"""The operator's words for the CPUs of guests."""

import pytest

from computeagent.drivers.cpu_options import MAX_CPU_WORDS, CpuFlag, CpuMode, CpuOptions, cpu_options_parse
from controlplane.kernel.errors import Invalid


def test_without_a_word_the_host_decides() -> None:
    assert cpu_options_parse("", " , ", "") == CpuOptions()


def test_models_have_an_order_and_flags_a_sign() -> None:
    assert cpu_options_parse("custom", "Haswell-noTSX, Nehalem", "+PCID,-mpx,aes") == CpuOptions(
        CpuMode.CUSTOM, ("Haswell-noTSX", "Nehalem"), (CpuFlag("pcid"), CpuFlag("mpx", is_on=False), CpuFlag("aes"))
    )


@pytest.mark.parametrize("mode", ["", "host-passthrough", "host-model", "maximum"])
def test_flags_go_with_every_mode_and_models_with_custom_alone(mode: str) -> None:
    assert cpu_options_parse(mode, "", "-vmx").flags == (CpuFlag("vmx", is_on=False),)
    with pytest.raises(Invalid, match="cpu_models go with cpu_mode custom alone") as refused:
        cpu_options_parse(mode, "Nehalem", "")
    assert refused.value.field == "cpu_models"


@pytest.mark.parametrize(
    ("texts", "field", "reason"),
    [
        (("host", "", ""), "cpu_mode", "is none of host-passthrough, host-model, custom, maximum"),
        (("Custom", "Nehalem", ""), "cpu_mode", "is none of"),
        (("custom", "", ""), "cpu_models", "custom needs cpu_models"),
        (("custom", "Nehalem,Nehalem", ""), "cpu_models", "'Nehalem' is named twice"),
        (("custom", "<x/>", ""), "cpu_models", "is no name of a CPU model"),
        (("custom", "Nehalem Haswell", ""), "cpu_models", "is no name of a CPU model"),
        (("custom", "N" * 65, ""), "cpu_models", "is no name of a CPU model"),
        (("custom", ",".join(f"m{at}" for at in range(MAX_CPU_WORDS + 1)), ""), "cpu_models", "may have 64"),
        (("", "", "+"), "cpu_model_extra_flags", "is no CPU flag"),
        (("", "", "--vmx"), "cpu_model_extra_flags", "is no CPU flag"),
        (("", "", "vmx=off"), "cpu_model_extra_flags", "is no CPU flag"),
        (("", "", "+vmx,-vmx"), "cpu_model_extra_flags", "'vmx' is named twice"),
    ],
)
def test_what_cannot_be_is_refused_by_its_option(texts: tuple[str, str, str], field: str, reason: str) -> None:
    with pytest.raises(Invalid, match=reason) as refused:
        cpu_options_parse(*texts)
    assert refused.value.field == field
