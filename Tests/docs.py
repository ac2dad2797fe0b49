#!/usr/bin/env python3
"""Builds the documentation as static pages: Tests/docs.py BINARIES OUTPUT

BINARIES is the folder of a build with every trait. Each library becomes a part of OUTPUT. A link that leads nowhere
and any other warning of DocC is an error.

The articles are ordinary Markdown, so that they can be read without DocC. Here their links become links of DocC. The
same happens to a symbol of another library: DocC knows only the library that it builds.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
SYMBOL = re.compile(r"``(?!`)([^`\n]+)``")


def libraries():
    """Returns the products for apps, and the targets that have their own catalogue."""
    manifest = (ROOT / "Package.swift").read_text()
    names = re.findall(r'\.library\(name: "(\w+)"', manifest)
    return sorted({*names, *(path.parent.name for path in ROOT.glob("Sources/*/*.docc"))})


def extract_symbols(binaries, module, output):
    """Returns the compiler's data about a library's public declarations, with their comments."""
    output.mkdir(parents=True)
    maps = [*ROOT.glob("Sources/C*/module.modulemap"), *binaries.glob("*.build/module.modulemap")]
    checkouts = binaries.resolve().parent.parent / "checkouts"
    maps += [*checkouts.glob("*/Sources/*/module.modulemap"), *checkouts.glob("*/Sources/*/include/module.modulemap")]
    packages = re.findall(r'pkgConfig: "([\w.-]+)"', (ROOT / "Package.swift").read_text())
    flags = subprocess.check_output(["pkg-config", "--cflags-only-I", *packages], text=True).split()
    flags += [f"-fmodule-map-file={map}" for map in maps]
    target = json.loads(subprocess.check_output(["swift", "-print-target-info"]))["target"]["unversionedTriple"]
    subprocess.run(
        ["swift", "symbolgraph-extract", "-module-name", module, "-target", target, "-I", binaries / "Modules",
         "-minimum-access-level", "public", "-skip-inherited-docs", "-skip-synthesized-members",
         "-output-dir", output, *(word for flag in flags for word in ("-Xcc", flag))],
        check=True)


def outline(text, own, known):
    """Returns the text with code voice for the symbols of other libraries."""
    def replaced(match):
        first = re.split(r"[/(-]", match[1])[0]
        if first in own or first not in known:
            return match[0]
        return "`" + re.sub(r"-\(.*\)$|-\w{4,6}$", "", match[1]).replace("/", ".") + "`"
    return SYMBOL.sub(replaced, text)


def fragment(article, anchor):
    """Converts an anchor of the hosting site to DocC's form, which keeps capital letters."""
    for heading in re.findall(r"^#+ (.*)$", article.read_text(), re.M):
        words = re.sub(r"[^\w -]", "", heading).replace(" ", "-")
        if words.lower() == anchor:
            return f"#{words}"
    return f"#{anchor}" if anchor else ""


def as_docc(text, path):
    """Returns an article with DocC's links."""
    def replaced(match):
        image, label, target = match.groups()
        if image:
            return f"![{label}]({pathlib.PurePath(target).stem})"
        if re.match(r"https?:|mailto:|doc:", target):
            return match[0]
        name, _, anchor = target.partition("#")
        article = (path.parent / name).resolve() if name else path
        if article.suffix != ".md" or article.parent.suffix != ".docc":
            return label  # a file of the repository, which the pages do not contain
        if article.parent == path.parent.resolve():
            return f"[{label}](<doc:{article.stem}{fragment(article, anchor)}>)"
        module = article.parent.stem.lower()
        page = "" if article.stem == article.parent.stem else "/" + article.stem.lower()
        return f"[{label}](/documentation/{module}{page})"
    text = re.sub(r"^<!-- test: .*? -->\n+", "", text, flags=re.M | re.S)
    return LINK.sub(replaced, text)


def build(binaries, output):
    shutil.rmtree(output, ignore_errors=True)
    modules = libraries()
    own = {}
    for module in modules:
        extract_symbols(binaries, module, output / "symbols" / module)
        own[module] = {module}
        for file in (output / "symbols" / module).glob("*.json"):
            if "@" in file.name:
                continue  # It extends types of another library, which have no page here.
            own[module] |= {symbol["pathComponents"][0] for symbol in json.loads(file.read_text())["symbols"]}
    known = set().union(*own.values())
    (output / "archives").mkdir()
    failed = []
    for module in modules:
        for file in (output / "symbols" / module).glob("*.json"):
            graph = json.loads(file.read_text())
            for symbol in graph["symbols"]:
                for line in symbol.get("docComment", {}).get("lines", []):
                    line["text"] = outline(line["text"], own[module], known)
            file.write_text(json.dumps(graph))
        catalogue = output / "catalogues" / f"{module}.docc"
        source = ROOT / "Sources" / module / f"{module}.docc"
        if source.exists():
            shutil.copytree(source, catalogue)
            for article in catalogue.glob("*.md"):
                text = as_docc(article.read_text(), source / article.name)
                article.write_text(outline(text, own[module], known))
        else:
            catalogue.mkdir(parents=True)
        done = subprocess.run(
            ["docc", "convert", catalogue, "--additional-symbol-graph-dir", output / "symbols" / module,
             "--fallback-display-name", module, "--fallback-bundle-identifier", module, "--warnings-as-errors",
             "--output-path", output / "archives" / f"{module}.doccarchive"], capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stdout, done.stderr, file=sys.stderr)
            failed.append(module)
    if failed:
        sys.exit(f"DocC complains about {', '.join(failed)}.")
    archives = [output / "archives" / f"{module}.doccarchive" for module in modules]
    subprocess.run(
        ["docc", "merge", *archives, "--synthesized-landing-page-name", "Credential Vault",
         "--output-path", output / "site"], check=True, stdout=subprocess.DEVNULL)
    print(f"The pages are in {output / 'site'}: start with documentation/index.html, served by any web server.")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
