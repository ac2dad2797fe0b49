#!/usr/bin/env python3
"""Checks who imports whom: Tests/layers.py [--write]

The table below lists every target of Sources, lowest first, with the modules that its files may import besides Swift's
libraries. A target imports only targets above it in the table. A target that apps need for a seam does not reach the
mechanisms behind the seam, not even through another target. Nor do the rules and the audit log of the key service. And
without the trait Networking, an app that uses the library builds nothing that uses the network.

The article Architecture shows these targets. Its tables must name each of them, and its picture must be the one that
`--write` makes from Tests/layers_picture.py.
"""

import json
import pathlib
import re
import subprocess
import sys

import layers_picture

SWIFT = {
    "Foundation", "FoundationEssentials", "CDispatch", "Dispatch", "Glibc", "Musl", "Observation", "Synchronization",
}  # fmt: skip
# Packages that are the mechanism behind a seam.
MECHANISMS = {
    "AsyncHTTPClient", "NIOCore", "NIOPosix", "NIOHTTP1", "NIOSSL", "GRDB", "CSQLite", "Hummingbird", "HummingbirdCore",
    "CSystemd", "CTPM2", "CFIDO2", "CPKCS11", "CPostgreSQL",
}  # fmt: skip
MAY_IMPORT = {
    "VaultBase": "",
    "VaultCrypto": "CSodium CArgon2 VaultBase Crypto",
    "KeyServiceAPI": "VaultBase VaultCrypto",
    "VaultHTTP": "HTTPTypes",
    "VaultBackground": "CLinux VaultBase",
    "VaultNetworking": "VaultHTTP VaultBase HTTPTypes AsyncHTTPClient NIOCore NIOHTTP1 NIOPosix NIOSSL",
    "OpenIDConnect": "VaultHTTP VaultBase HTTPTypes Crypto CryptoExtras",
    "KeyServiceClient": "VaultBase KeyServiceAPI VaultHTTP VaultCrypto HTTPTypes Logging",
    "VaultBiometric": "VaultCrypto VaultBase",
    "VaultTPM2": "VaultBiometric VaultCrypto VaultBase CTPM2 Crypto",
    "VaultFIDO2": "VaultBiometric VaultCrypto VaultBase CFIDO2",
    "VaultPKCS11": "VaultBiometric VaultCrypto VaultBase CPKCS11 Crypto CryptoExtras",
    "VaultDBus": "VaultBackground VaultBase CSystemd",
    "VaultLogind": "VaultDBus VaultBackground VaultBase",
    "VaultSecretService": "VaultDBus VaultBiometric VaultBackground VaultCrypto",
    "VaultStorage": "VaultBase VaultCrypto Logging",
    "VaultSQLite": "VaultStorage VaultCrypto VaultBase CLinux CSQLite GRDB",
    "VaultUnlock": "KeyServiceClient VaultStorage VaultBiometric VaultHTTP VaultCrypto VaultBase Logging",
    "VaultAuth": "VaultUnlock OpenIDConnect VaultStorage VaultBiometric VaultBackground KeyServiceClient VaultCrypto VaultHTTP VaultBase "
    "HTTPTypes Logging",
    "VaultBackends": "VaultUnlock VaultAuth OpenIDConnect VaultStorage VaultCrypto VaultHTTP VaultBase HTTPTypes",
    "VaultAgentProtocol": "CLinux",
    "VaultAgent": "VaultUnlock VaultAgentProtocol VaultAuth VaultStorage VaultCrypto VaultBase OpenIDConnect KeyServiceClient CLinux",
    "CredentialVault": "VaultUnlock VaultBase VaultAgent VaultAuth VaultBackends VaultBackground VaultStorage VaultSQLite VaultBiometric OpenIDConnect "
    "KeyServiceClient VaultCrypto VaultHTTP VaultNetworking Logging",
    "VaultObservation": "CredentialVault",
    "VaultLifecycle": "CredentialVault ServiceLifecycle",
    "VaultTesting": "VaultUnlock KeyServiceClient OpenIDConnect VaultAuth VaultBiometric VaultCrypto VaultHTTP VaultBase VaultStorage "
    "HTTPTypes",
    "VaultDevelopment": "VaultAuth VaultBase Hummingbird JWTKit Crypto Logging ServiceLifecycle HTTPTypes "
    "AsyncHTTPClient NIOCore NIOPosix NIOHTTP1",
    "KeyServiceCore": "CLinux KeyServiceAPI VaultCrypto VaultBase Crypto",
    "KeyServiceSQLite": "CLinux CSQLite KeyServiceCore VaultCrypto VaultBase GRDB GRDBSQLite",
    "KeyServicePostgreSQL": "KeyServiceCore VaultBase CPostgreSQL",
    "KeyServiceAudit": "KeyServiceCore VaultCrypto VaultBase Crypto Logging",
    "KeyServiceServer": "KeyServiceAudit KeyServiceCore KeyServiceAPI VaultCrypto VaultBase Hummingbird HummingbirdCore "
    "HTTPTypes Logging CoreMetrics NIOCore NIOHTTP1 NIOHTTPTypes NIOPosix NIOSSL ServiceLifecycle",
    "VaultManual": "ArgumentParser",
    "VaultCommands": "CredentialVault VaultAgent VaultAgentProtocol VaultSQLite VaultLogind VaultSecretService VaultTPM2 VaultFIDO2 VaultPKCS11 VaultBase VaultManual CLinux CQRCode ArgumentParser "
    "Configuration Logging SystemPackage",
    "vault": "CLinux VaultAgentProtocol",
    "vault-command": "VaultCommands",
    "vault-key-service": "KeyServiceServer KeyServiceAudit KeyServiceCore KeyServiceSQLite KeyServicePostgreSQL OpenIDConnect VaultNetworking VaultHTTP VaultBase VaultManual CLinux ArgumentParser CoreMetrics Logging "
    "ServiceLifecycle UnixSignals",
    "vault-dev": "VaultDevelopment KeyServiceCore KeyServiceServer KeyServiceSQLite VaultBase ArgumentParser Hummingbird Logging ServiceLifecycle UnixSignals",
}  # fmt: skip
# Packages that an app with its own networking does not build.
NETWORKING = {
    "VaultNetworking", "AsyncHTTPClient", "NIOCore", "NIOPosix", "NIOHTTP1", "NIOSSL", "Hummingbird", "ServiceLifecycle",
}  # fmt: skip
# Targets that apps need for a seam, and those of the key service.
SEAMS = (
    "VaultCrypto VaultHTTP VaultBackground KeyServiceClient VaultBiometric VaultStorage VaultUnlock OpenIDConnect VaultAuth VaultBackends "
    "VaultTesting KeyServiceCore KeyServiceAudit"
).split()


def imports(target: pathlib.Path) -> dict[str, str]:
    """Returns the modules that a target's files import, each with one of these files."""
    found = {}
    for file in sorted(target.rglob("*.swift")):
        pattern = (
            r"^[ \t]*(?:@\w+[ \t]+)*(?:(?:public|package|internal|private|fileprivate)[ \t]+)?import[ \t]+"
            r"(?:(?:struct|class|enum|protocol|func|typealias|let|var)[ \t]+)?(\w+)"
        )
        for name in re.findall(pattern, file.read_text(), re.MULTILINE):
            found.setdefault(name, str(file))
    return found


def closure(target: str) -> set[str]:
    direct = set(MAY_IMPORT.get(target, "").split())
    return direct | {below for name in direct for below in closure(name)}


def built_without_networking(package: pathlib.Path) -> set[str]:
    """Returns the targets and the other packages' products that the library needs without the trait Networking."""
    command = ["swift", "package", "--disable-default-traits", "describe", "--type", "json"]
    described = json.loads(subprocess.run(command, cwd=package, check=True, stdout=subprocess.PIPE).stdout)
    targets = {target["name"]: target for target in described["targets"]}
    found, left = set(), {"CredentialVault"}
    while left:
        name = left.pop()
        found.add(name)
        target = targets.get(name, {})
        left |= {*target.get("target_dependencies", []), *target.get("product_dependencies", [])} - found
    return found


def document_errors(package: pathlib.Path, writes: bool) -> list[str]:
    """Compares the article with the table. Writes the pictures, if asked."""
    article = package / "Sources/CredentialVault/CredentialVault.docc"
    rows = [line for line in (article / "Architecture.md").read_text().splitlines() if line.startswith("| `")]
    described = {name for row in rows for name in re.findall(r"`([\w-]+)`", row.split("|")[1])}
    errors = [f"Architecture.md does not say what {name} holds." for name in MAY_IMPORT if name not in described]
    drawn = layers_picture.targets() | layers_picture.ELSEWHERE
    errors += [f"Tests/layers_picture.py does not have {name}." for name in MAY_IMPORT if name not in drawn]
    errors += [f"Tests/layers_picture.py has {name}, which is no target." for name in drawn if name not in MAY_IMPORT]
    for suffix, colours in layers_picture.COLOURS.items():
        file, picture = article / f"Resources/layers{suffix}.svg", layers_picture.picture(colours)
        if writes:
            file.write_text(picture)
        elif file.read_text() != picture:
            errors.append(f"{file.relative_to(package)} is an old picture. To make it again: Tests/layers.py --write")
    return errors


def main() -> int:
    package = pathlib.Path(__file__).resolve().parent.parent
    sources = package / "Sources"
    errors = []
    order = list(MAY_IMPORT)
    for target in order:
        for name in MAY_IMPORT[target].split():
            if name in order and order.index(name) >= order.index(target):
                errors.append(f"The table lets {target} import {name}, which does not stand above it.")
    for seam in SEAMS:
        if reached := closure(seam) & MECHANISMS:
            errors.append(f"{seam} is for seams, and reaches {', '.join(sorted(reached))}.")
    if reached := built_without_networking(package) & NETWORKING:
        errors.append(f"Without the trait Networking, CredentialVault still builds {', '.join(sorted(reached))}.")
    for folder in sorted(path for path in sources.iterdir() if any(path.rglob("*.swift"))):
        if folder.name not in MAY_IMPORT:
            errors.append(f"{folder.name} does not stand in the table.")
            continue
        allowed = set(MAY_IMPORT[folder.name].split()) | SWIFT
        for name, file in imports(folder).items():
            if name not in allowed:
                errors.append(f"{file} imports {name}, which the table does not allow to {folder.name}.")
    errors += document_errors(package, "--write" in sys.argv[1:])
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
