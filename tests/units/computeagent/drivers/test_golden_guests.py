"""Definitions of whole guests, held to the letter, and to libvirt's own schema."""

import shutil
import subprocess

import pytest

from tests.units.computeagent.drivers.guest_samples import GOLDEN, SAMPLES, Sample, golden_text


@pytest.mark.parametrize(("name", "sample"), SAMPLES.items())
def test_definition_is_the_golden_one(name: str, sample: Sample) -> None:
    assert golden_text(sample) == (GOLDEN / f"{name}.xml").read_text(), (
        "run python -m tests.units.computeagent.drivers.guest_samples, and read the difference"
    )


def test_every_golden_file_has_its_guest() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(SAMPLES)


@pytest.mark.libvirt
@pytest.mark.parametrize("name", SAMPLES)
def test_libvirts_schema_takes_it(name: str) -> None:
    if not (shutil.which("virt-xml-validate") and shutil.which("xmllint")):
        pytest.skip("virt-xml-validate or xmllint is not installed")
    command = ["virt-xml-validate", str(GOLDEN / f"{name}.xml"), "domain"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
