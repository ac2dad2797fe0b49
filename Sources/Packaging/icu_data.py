#!/usr/bin/env python3
"""Makes a small copy of the data of ICU, which is a third of each program that uses Foundation:

    icu_data.py FOLDER [--library FILE]

The programs write English only, so the copy has no other languages, no old character sets, no transliteration and no
dictionaries for line breaks. Foundation then uses English, as for a language that it does not know. The script writes
FOLDER/icu_data.o, and prints the options with which "swift build" links this object instead of the full data. With
another layout of the library, the script fails. FILE is Swift's static library of ICU.
"""

import argparse
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ENGLISH = {"en", "en_001", "en_US", "en_US_POSIX"}
LANGUAGE = re.compile(r"[a-z]{2,3}(_[A-Z][a-z]{3})?(_([A-Z]{2}|[0-9]{3}))?(_[A-Z0-9]+)?")
# The first bytes of the data in ICU's format CmnD: a number that says the format, then the order of the bytes and the
# size of a character (icu4c/source/common/unicode/udata.h).
MAGIC, LITTLE_ENDIAN, FORMAT = b"\xda\x27", b"\x00\x00\x02\x00", b"CmnD\x01"
PADDING = b"\xaa"


def is_kept(name):
    """Whether the copy has an item, such as icudt76l/zone/da.res."""
    path = Path(*Path(name).parts[1:])
    if path.suffix in {".cnv", ".dict"} or path.parts[0] == "translit":
        return False
    is_language = path.suffix == ".res" and LANGUAGE.fullmatch(path.stem) and path.stem not in {"pool", "root"}
    return not is_language or path.stem in ENGLISH


def items(data):
    """The header of the data, and its items by name: a count, pairs of offsets, the names, then the contents."""
    start = int.from_bytes(data[:2], "little")
    if data[2:4] != MAGIC or data[8:12] != LITTLE_ENDIAN or data[12:17] != FORMAT:
        raise ValueError("the data has another format")
    (count,) = struct.unpack_from("<I", data, start)
    offsets = [[start + offset for offset in struct.unpack_from("<II", data, start + 4 + 8 * index)]
               for index in range(count)]
    ends = [content for _, content in offsets[1:]] + [len(data)]
    return data[:start], {data[name:data.index(0, name)].decode(): data[content:end]
                          for (name, content), end in zip(offsets, ends)}


def joined(header, kept):
    """The data with these items. Each item begins at a multiple of 16 bytes."""
    names = b"".join(name.encode() + b"\0" for name in kept)
    place = 4 + 8 * len(kept)
    names += PADDING * (-(len(header) + place + len(names)) % 16)
    content, table, output = place + len(names), bytearray(), bytearray()
    for name, item in kept.items():
        table += struct.pack("<II", place, content + len(output))
        place += len(name.encode()) + 1
        output += item + PADDING * (-len(item) % 16)
    return b"".join([header, struct.pack("<I", len(kept)), table, names, output])


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, **options).stdout


def full_data(library):
    """The symbol of the data in the library, such as icudt76_dat, and the data."""
    defined = re.findall(r":([^:]+):[0-9a-f]+ R (icudt\d+_dat)$", run("nm", "-A", library, text=True), re.MULTILINE)
    if len(defined) != 1:
        raise ValueError("the library has no data of ICU in one place")
    ((member, symbol),) = defined
    with tempfile.TemporaryDirectory() as folder:
        run("ar", "x", library.resolve(), member, cwd=folder)
        run("objcopy", "-O", "binary", "-j", ".rodata", member, "data", cwd=folder)
        return symbol, (Path(folder) / "data").read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--library", type=Path)
    options = parser.parse_args()
    library = options.library or (
        Path(shutil.which("swiftc") or "swiftc").resolve().parents[1] / "lib/swift_static/linux/lib_FoundationICU.a")
    try:
        symbol, data = full_data(library)
        header, all_items = items(data)
        if joined(header, all_items) != data:
            raise ValueError("the data has another layout")
        options.folder.mkdir(parents=True, exist_ok=True)
        output = options.folder.resolve() / "icu_data"
        kept = {name: item for name, item in all_items.items() if is_kept(name)}
        output.with_suffix(".dat").write_bytes(joined(header, kept))
        # The linker takes this symbol for the library's own, because of --wrap. So the library's data is not linked.
        source = f"""
            .section .rodata.icu_data, "a", %progbits
            .globl __wrap_{symbol}
            .type __wrap_{symbol}, %object
            .balign 16
            __wrap_{symbol}: .incbin "icu_data.dat"
            .size __wrap_{symbol}, . - __wrap_{symbol}
            .section .note.GNU-stack, "", %progbits
            """
        run("clang", "-c", "-x", "assembler", "-", "-o", "icu_data.o", input=source.encode(), cwd=options.folder)
    except (OSError, ValueError, struct.error, subprocess.CalledProcessError) as error:
        sys.exit(f"icu_data.py: {library}: {error}")
    for option in (output.with_suffix(".o"), f"--wrap={symbol}"):
        print(f"-Xlinker\n{option}")


if __name__ == "__main__":
    main()
