"""The Swift samples of the documents, as targets of the examples' package.

A sample is compiled as the body of a function that has a vault, an open session and secrets, and again as a method of a
window on the main actor, where most apps use it. The comment
`<!-- test: program NAME -->` makes it a program, and `<!-- test: tests NAME -->` makes it tests that run.
"""

import re

from .documents import blocks, documents

PRODUCTS = [
    "CredentialVault", "VaultDevelopment", "VaultLifecycle", "VaultObservation", "VaultTesting", "VaultTPM2",
    "VaultPKCS11", "VaultFIDO2", "VaultLogind", "VaultSecretService",
]
PARAMETERS = (
    "vault: Vault, session: Session, account: Account, userID: String, token: SignInResult, "
    "password: consuming SecretBytes, newPassword: consuming SecretBytes, pin: consuming SecretBytes, "
    "prompt: any BiometricPrompt")
# A program of the documents runs against the services of the tests.
ADDRESSES = {
    '"https://login.example.com"': "CREDENTIAL_VAULT_ISSUER", '"my-app"': "CREDENTIAL_VAULT_CLIENT_ID",
    '"https://keys.example.com"': "CREDENTIAL_VAULT_KEY_SERVICE",
}
IMPORT = re.compile(r"^(?:@testable )?import \w+$", re.M)


def add_samples(package):
    """Writes the samples into a copy of the examples' package.

    Returns the names of the programs and of the test targets.
    """
    samples = [block for path in documents() for block in blocks(path, "swift") if block.reason is None]
    targets, programs, tests = [], [], []

    def add(kind, name, folder, file, text):
        place = package / folder / name
        place.mkdir(parents=True, exist_ok=True)
        (place / file).write_text(text)
        products = ", ".join(f'.product(name: "{product}", package: "credential-vault")' for product in PRODUCTS)
        target = f'.{kind}(name: "{name}", dependencies: [{products}]),'
        if target not in targets:
            targets.append(target)

    for number, block in enumerate(samples):
        located = f'#sourceLocation(file: "{block.path.name}", line: {block.line + 1})\n{block.text}'
        kind, _, name = block.directive.partition(" ")
        if kind == "program":
            programs.append(name)
            for address, variable in ADDRESSES.items():
                located = located.replace(address, f'(ProcessInfo.processInfo.environment["{variable}"] ?? "")')
            add("executableTarget", name, "Sources", "main.swift", f"import Foundation\n{located}")
        elif kind == "tests":
            tests.append(name)
            add("testTarget", name, "Tests", f"{name}.swift", located)
        else:
            imports = "\n".join(["import CredentialVault", "import Foundation", *IMPORT.findall(block.text)])
            body = IMPORT.sub("", located)
            function = f"func sample{number}({PARAMETERS}) async throws {{\n{body}\n}}\n"
            add("target", "DocumentSamples", "Sources", f"Sample{number}.swift",
                f"{imports}\n{function}\nextension Window {{\n{function}}}\n")
            add("target", "DocumentSamples", "Sources", "Window.swift", "@MainActor final class Window {}\n")
    manifest = package / "Package.swift"
    text = manifest.read_text()
    assert "    targets: [\n" in text
    manifest.write_text(text.replace("    targets: [\n", "    targets: [\n" + "".join(f"        {t}\n" for t in targets)))
    return programs, tests
