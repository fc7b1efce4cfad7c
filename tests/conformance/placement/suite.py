"""The published suite: the yaml files within Placement's own source package, fetched once and kept."""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.conformance.placement.modes import Mode, mode_of

ROOT = Path(__file__).resolve().parent.parent.parent.parent
CACHE = ROOT / ".conformance"
INTERPRETER = CACHE / "venv" / "bin" / "python"
PINNED = ROOT / "requirements" / "conformance-suite.txt"
FILES_WITHIN = "placement/tests/functional/gabbits"
FIXTURES = re.compile(r"^fixtures:\s*\n(?:\s*(?:#.*)?\n)*\s*-\s*(\w+)", re.MULTILINE)


class SuiteError(RuntimeError):
    """The suite, or a file of it, is not to be had; the message says why."""


@dataclass(frozen=True, slots=True)
class SuiteFile:
    """One yaml file and the fixture that it names."""

    path: Path
    fixture: str

    @property
    def name(self) -> str:
        """The file's name, as reports show it."""
        return self.path.name

    @property
    def mode(self) -> Mode:
        """How the server has to be set up for it."""
        return mode_of(self.fixture)


def fetched() -> Path:
    """The directory of the files, fetched from the package registry unless that was done for this very pin."""
    pin = PINNED.read_text()
    directory, stamp = CACHE / "suite", CACHE / "suite.pin"
    if not (directory.is_dir() and stamp.is_file() and stamp.read_text() == pin):
        shutil.rmtree(directory, ignore_errors=True)
        with tempfile.TemporaryDirectory() as scratch:
            _unpack(_downloaded(Path(scratch)), directory)
        stamp.write_text(pin)
    return directory


def _downloaded(directory: Path) -> Path:
    """The source package: checked against its pinned hash, its dependencies not looked at."""
    command: list[str | Path] = [
        INTERPRETER, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--no-binary", ":all:", "--no-build-isolation", "--require-hashes", "--requirement", PINNED,
        "--dest", directory,
    ]  # fmt: skip
    result = subprocess.run(command, check=False, stdout=sys.stderr)
    found = list(directory.glob("*.tar.gz"))
    if result.returncode or len(found) != 1:
        raise SuiteError(f"the package of {PINNED.name} could not be fetched")
    return found[0]


def _unpack(package: Path, directory: Path) -> None:
    """Only the files of the suite, flat."""
    directory.mkdir(parents=True)
    with tarfile.open(package) as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            content = archive.extractfile(member) if path.suffix == ".yaml" and member.isfile() else None
            if content is not None and str(path.parent).endswith(FILES_WITHIN):
                (directory / path.name).write_bytes(content.read())


def files_in(directory: Path, names: Iterable[str] = ()) -> list[SuiteFile]:
    """The files with these names ('traits' or 'traits.yaml'); all files without any."""
    wanted = {name.removesuffix(".yaml") for name in names}
    paths = {path.stem: path for path in sorted(directory.glob("*.yaml"))}
    if unknown := wanted - paths.keys():
        raise SuiteError(f"no such file in the suite: {', '.join(sorted(unknown))}")
    return [SuiteFile(path, fixture_in(path)) for stem, path in paths.items() if not wanted or stem in wanted]


def fixture_in(path: Path) -> str:
    """The fixture that a file names; every file of the suite names one."""
    found = FIXTURES.search(path.read_text())
    if found is None:
        raise SuiteError(f"{path.name} names no fixture")
    return found.group(1)
