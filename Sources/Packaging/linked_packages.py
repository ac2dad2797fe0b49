#!/usr/bin/env python3
"""Says which packages are linked into programs. make-debian-packages calls it.

    linked_packages.py copyright PROGRAM...    the file "copyright" of a Debian package
    linked_packages.py sbom DEB PROGRAM...     a list in SPDX 2.3 (JSON) of what a Debian package contains
    linked_packages.py built-using PROGRAM...  the Debian packages of the static libraries, for the field Built-Using

PROGRAM is the path of a program in the folder where Swift built it. Beside the program, Swift keeps the list of the
objects that it linked, so the answer has no package that only another program uses.
"""

import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def checkouts(program):
    """Returns the folders of the packages whose objects are linked into the program.

    The build may have seen these folders under another path, so only their names count.
    """
    folder = next((path / "checkouts" for path in program.parents if (path / "checkouts").is_dir()), None)
    listed = program.parent / f"{program.name}.product" / "Objects.LinkFileList"
    if not folder or not listed.exists():
        raise SystemExit(f"Swift's lists of objects are not beside {program}. Name the program in .build, not a copy.")
    first = {}
    for path in listed.read_text().splitlines():
        if match := re.search(r"/([^/]+)\.build/(.+)\.o$", path.strip("'\"")):
            first.setdefault(*match.groups())
    found = set()
    for module, object in first.items():
        build = program.parent / f"{module}.build"
        # The compiler's list of Swift files, or of the headers of a C file.
        sources = build / "sources" if (build / "sources").exists() else build / f"{object}.d"
        # The project itself may be in a folder of that name, too.
        names = re.findall(r"/checkouts/([^/\s]+)/", sources.read_text())
        found.update([folder / name for name in names if (folder / name).is_dir()][:1])
    return found


def linked(programs):
    """Returns the Swift packages, by name: the entry of Package.resolved, and the folder."""
    pins = {pin["location"].removesuffix(".git").rsplit("/", 1)[1]: pin
            for pin in json.loads((ROOT / "Package.resolved").read_text())["pins"]}
    folders = set().union(*map(checkouts, programs))
    return {folder.name: (pins[folder.name], folder) for folder in sorted(folders, key=lambda path: path.name.lower())}


def licence(folder):
    """Returns the name of a package's licence as SPDX spells it, and its text."""
    text = next(iter(sorted(folder.glob("LICENSE*")))).read_text()
    for start, name in {"Apache License": "Apache-2.0", "Permission is hereby granted, free of charge": "MIT"}.items():
        if start in text:
            return name, text
    raise SystemExit(f"The licence of {folder.name} is not known. Add it to {Path(__file__).name}.")


def swift():
    """Returns the version of Swift, and the licence of its libraries."""
    version = re.search(r"Swift version (\S+)", output("swift", "--version"))[1]
    return version, (Path(output("bash", "-c", "readlink -f $(command -v swift)")).parents[1]
                     / "share/swift/LICENSE.txt").read_text()


def static_libraries(programs):
    """Returns the source packages of Debian whose static libraries are linked, with their versions."""
    files = set()
    for program in programs:
        needed = output("objdump", "-p", program)
        if "libstdc++.so" not in needed:
            files.add("libstdc++.a")
        if "NEEDED" not in needed:
            files.add("libc.a")
    paths = [os.path.realpath(output("clang", f"-print-file-name={file}")) for file in sorted(files)]
    owners = [output("dpkg", "-S", path).split(": ")[0] for path in paths]
    return sorted(output("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", owner).split()
                  for owner in owners)


def write_copyright(programs):
    debian = "The full text is in /usr/share/common-licenses/Apache-2.0 on a Debian system."
    print("Credential Vault\n\nLicensed under the Apache License, Version 2.0.", debian)
    print("\nThe programs in this package also contain the following software.")
    for name, (pin, folder) in linked(programs).items():
        print(f"\n{'-' * 80}\n{name} {pin['state']['version']}, {pin['location']}\n")
        kind, text = licence(folder)
        print(f"Licensed under the Apache License, Version 2.0. {debian}" if kind == "Apache-2.0" else text.strip())
        for notice in sorted(folder.glob("NOTICE*")):
            print("\n" + notice.read_text().strip())
    version, text = swift()
    print(f"\n{'-' * 80}\nThe libraries of Swift {version}, https://swift.org\n")
    print(f"Licensed under the Apache License, Version 2.0, with an exception. {debian}\n")
    print(text[text.index("## Runtime Library Exception"):].strip())
    print("\nThey contain ICU. Copyright (C) 1991 and later Unicode, Inc.: https://www.unicode.org/copyright.html")
    for name, version in static_libraries(programs):
        print(f"\n{'-' * 80}\n{name} {version}, from Debian\n\nIts licences are in the package with its libraries. "
              f"The source is Debian's source package {name}.")


def write_sbom(deb, programs):
    field = {name: output("dpkg-deb", "--field", deb, name)
             for name in ("Package", "Version", "Architecture", "Depends")}
    digest = hashlib.sha256(Path(deb).read_bytes()).hexdigest()
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    packages, relationships = [], [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package")]

    def add(identifier, name, version, location="NOASSERTION", licence="NOASSERTION", url=None, relation=None, **more):
        identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", identifier)
        urls = {"externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": url}]} if url else {}
        packages.append({
            "SPDXID": identifier, "name": name, "downloadLocation": location, "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            **({"versionInfo": version} if version else {}), **urls, **more})
        if relation:
            relationships.append(("SPDXRef-Package", relation, identifier))

    add("Package", field["Package"], field["Version"], licence="Apache-2.0", packageFileName=Path(deb).name,
        checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
    for name, (pin, folder) in linked(programs).items():
        state, location = pin["state"], pin["location"]
        place = re.sub(r"^https?://|\.git$", "", location)
        add(f"Swift-{name}", name, state["version"], f"git+{location}@{state['revision']}", licence(folder)[0],
            f"pkg:swift/{place}@{state['version']}", "STATIC_LINK")
    add("Swift", "swift", swift()[0], licence="Apache-2.0 WITH Swift-exception", relation="STATIC_LINK")
    for name, version in static_libraries(programs):
        add(f"Debian-source-{name}", name, version, url=f"pkg:deb/debian/{name}@{version}?arch=source",
            relation="STATIC_LINK")
    for dependency in field["Depends"].split(", "):
        name, _, version = dependency.partition(" ")
        add(f"Debian-{name}", name, version.strip("()"), url=f"pkg:deb/debian/{name}", relation="DYNAMIC_LINK")
    title = "{Package}_{Version}_{Architecture}".format(**field)
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": title,
        "documentNamespace": f"https://spdx.org/spdxdocs/{title}-{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "creationInfo": {
            "created": f"{created:%Y-%m-%dT%H:%M:%SZ}", "creators": [f"Tool: {Path(__file__).name}"]},
        "packages": packages,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relationships],
    }, indent=1))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["copyright", *programs] if programs:
            write_copyright([Path(program) for program in programs])
        case ["sbom", deb, *programs] if programs:
            write_sbom(deb, [Path(program) for program in programs])
        case ["built-using", *programs] if programs:
            print(", ".join(f"{name} (= {version})" for name, version in static_libraries(map(Path, programs))))
        case _:
            raise SystemExit(__doc__)
