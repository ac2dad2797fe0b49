"""The Debian packages with the programs that the tests run."""

import shutil

from support.programs import BINARIES, ROOT, clean_environment, run
from support.turns import folder_of_run, turn

SCRIPT = "Sources/Packaging/make-debian-packages"
DATE = "1790000000"
# Packing debug programs takes some seconds, but the machine may be busy.
TIME = 600


def pack(output, *options, root=ROOT, **environment):
    """Packs the programs that the tests run. Debug programs need the libraries of Swift, which no Debian package has."""
    result = run(
        [root / SCRIPT, "pack", "--programs", BINARIES, "--output", output, "--compression", "0",
         "--allow-missing-libraries", *options],
        clean_environment(SOURCE_DATE_EPOCH=DATE, **environment), timeout=TIME)
    assert result.status == 0, result
    return output


def packed(tmp_path_factory):
    """A folder with the packages in `output`, and with `tests.key`, which signed them, and `tests.pub`. It is made once
    for all processes of this run."""
    folder = folder_of_run(tmp_path_factory) / "packages"
    with turn("packages"):
        if not (folder / "output" / "SHA256SUMS.minisig").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            key = ["-p", folder / "tests.pub", "-s", folder / "tests.key"]
            made = run(["minisign", "-G", "-W", *key])
            assert made.status == 0, made
            pack(folder / "output", "--sign-with", folder / "tests.key")
    return folder
