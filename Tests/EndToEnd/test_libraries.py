"""The libraries that the programs open when they need them first."""

import pytest
from support.libraries import WithoutLibrary
from support.person import PASSWORD
from support.programs import KEY_SERVICE, ROOT, run

# The library's file, and Debian's packages of the library.
HARDWARE = {
    "tpm2": ("libtss2-esys.so.0", ["libtss2-esys-3.0.2-0", "libtss2-rc0", "libtss2-tctildr0"]),
    "fido2": ("libfido2.so.1", ["libfido2-1"]),
    "pkcs11": ("libp11-kit.so.0", ["libp11-kit0"]),
}
# The headers to which the declarations of this repository must be equal.
HEADERS = {
    "CSystemd": "#include <systemd/sd-bus.h>\n",
    "CQRCode": "#include <qrencode.h>\n",
    "CPKCS11": "#define P11_KIT_DISABLE_DEPRECATED\n#define P11_KIT_FUTURE_UNSTABLE_API\n"
    "#include <p11-kit/p11-kit.h>\n#include <p11-kit/uri.h>\n",
}


def missing(file, packages):
    return f"The library {file} (Debian: {', '.join(packages)}) is missing."


@pytest.mark.parametrize("kind", HARDWARE)
def test_when_the_library_of_hardware_is_missing_then_its_package_is_named(alice, tmp_path, kind):
    file, packages = HARDWARE[kind]
    alice.disk = WithoutLibrary(tmp_path, file)
    # The library is opened before the TPM is looked for at this address.
    address = ["--which", "swtpm:port=1"] if kind == "tpm2" else []
    pin = alice.password_file("739146", "pin")
    refused = alice.vault("unlock", "add", kind, *address, "--new-pin-file", pin, "--json", password=PASSWORD)
    assert (refused.status, refused.error["code"]) == (78, "configurationInvalid"), refused
    refused = alice.vault("unlock", "add", kind, *address, "--new-pin-file", pin, password=PASSWORD)
    assert refused.err.endswith(f"{missing(file, packages)} As root: apt install {' '.join(packages)}\n"), refused
    assert alice.vault("login", password=PASSWORD).status == 0


def test_when_libpq_is_missing_then_its_package_is_named(tmp_path):
    machine = WithoutLibrary(tmp_path, "libpq.so.5")
    url = "postgresql://me@localhost/vault"
    refused = run(machine.enter(KEY_SERVICE, "serve", "--data", tmp_path / "data", "--database-url", url))
    hint = f"{missing('libpq.so.5', ['libpq5'])} As root: apt install libpq5\n"
    assert refused.status == 78 and refused.err.endswith(hint), refused
    # SQLite needs no libpq.
    assert run(machine.enter(KEY_SERVICE, "init", "--data", tmp_path / "data")).status == 0


@pytest.mark.parametrize("module", HEADERS)
def test_the_declarations_are_those_of_the_header_of_the_library(module):
    both = f'{HEADERS[module]}#include "Sources/{module}/shim.h"\n'
    compiled = run(
        ["clang", "-x", "c", "-fsyntax-only", "-Werror", "-I", ROOT, "-I", "/usr/include/p11-kit-1", "-"],
        password=both)
    assert compiled.status == 0, compiled.err
