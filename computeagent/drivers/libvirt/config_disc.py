"""A config drive is written: an ISO 9660 disc or a disk with a FAT file system, labelled config-2."""

import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pycdlib

from computeagent.drivers.base import DriverError
from computeagent.drivers.host_options import DriveFormat
from controlplane.kernel.units import MIB

LABEL = "config-2"
VFAT_BYTES = 64 * MIB
"""As large as Nova makes it; the file is sparse."""
MTOOLS = ("mformat", "mcopy")
_SECTOR_BYTES = 512
_TIMEOUT_S = 60.0


FILE_NAMES = {DriveFormat.ISO9660: "config.iso", DriveFormat.VFAT: "config.vfat"}
"""What the drive is called among the files of its instance."""


def drive_format_check(drive_format: DriveFormat) -> None:
    """Raises DriverError where this host lacks what the format needs, before any guest is promised one."""
    missing = [tool for tool in MTOOLS if shutil.which(tool) is None] if drive_format is DriveFormat.VFAT else []
    if missing:
        raise DriverError(f"config_drive_format is vfat, which needs mtools: {', '.join(missing)} is not installed")


def config_drive_write(directory: Path, drive_format: DriveFormat, files: Mapping[str, bytes]) -> Path:
    """Write the drive with `files` (path -> content) into the instance's directory. Raises DriverError."""
    path = directory / FILE_NAMES[drive_format]
    path.touch(mode=0o600, exist_ok=False)  # it has passwords and user data, which are nobody else's business
    if drive_format is DriveFormat.VFAT:
        _vfat_write(path, files)
    else:
        _iso_write(path, files)
    return path


def _iso_write(path: Path, files: Mapping[str, bytes]) -> None:
    """Names are readable through Rock Ridge and Joliet; those of plain ISO 9660 are numbers."""
    iso = pycdlib.PyCdlib()
    iso.new(interchange_level=3, vol_ident=LABEL, joliet=3, rock_ridge="1.09")
    folders = {PurePosixPath("."): ""}
    for number, folder in enumerate(sorted({parent for name in files for parent in PurePosixPath(name).parents})):
        if folder in folders:
            continue
        folders[folder] = f"{folders[folder.parent]}/DIR{number}"
        iso.add_directory(folders[folder], rr_name=folder.name, joliet_path=f"/{folder}")
    for number, (name, content) in enumerate(sorted(files.items())):
        place = PurePosixPath(name)
        iso_path = f"{folders[place.parent]}/FILE{number}.;1"
        iso.add_fp(io.BytesIO(content), len(content), iso_path, rr_name=place.name, joliet_path=f"/{name}")
    iso.write(str(path))
    iso.close()


def _vfat_write(path: Path, files: Mapping[str, bytes]) -> None:
    """By mtools, which needs no right to mount anything."""
    os.truncate(path, VFAT_BYTES)
    with tempfile.TemporaryDirectory(dir=path.parent) as tree:
        for name, content in files.items():
            file = Path(tree, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        sectors = str(VFAT_BYTES // _SECTOR_BYTES)
        _run("mformat", "-i", str(path), "-T", sectors, "-h", "16", "-s", "32", "-v", LABEL, "::")
        _run("mcopy", "-i", str(path), "-s", *(str(each) for each in sorted(Path(tree).iterdir())), "::/")


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_TIMEOUT_S)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace")[:300]
        raise DriverError(f"{command[0]} could not write the config drive: {said}") from error
    except subprocess.TimeoutExpired as error:
        raise DriverError(f"{command[0]} did not end within {_TIMEOUT_S:g} s") from error
