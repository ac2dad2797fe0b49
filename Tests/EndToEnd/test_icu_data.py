"""The small data of ICU in release programs: what the programs ask of Foundation has the same answer with it."""

import pytest
from support.programs import ROOT, clean_environment, run

SCRIPT = ROOT / "Sources/Packaging/icu_data.py"
# Compiling takes some seconds, but the machine may be busy.
TIME = 600

# Each kind of call that the sources have, and those that Foundation itself makes with ICU for the messages of errors.
PROGRAM = r"""
import Foundation

func show(_ value: Any?) { print(value.map { "\($0)" } ?? "nil") }
let date = Date(timeIntervalSince1970: 1_700_000_000.5)

let http = DateFormatter()
http.locale = Locale(identifier: "en_US_POSIX")
http.timeZone = TimeZone(secondsFromGMT: 0)
http.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
show(http.string(from: date))
for text in ["Tue, 14 Nov 2023 22:13:20 GMT", "Di, 14 Nov 2023 22:13:20 GMT", ""] { show(http.date(from: text)) }
show(date.formatted(.iso8601))
show(date.formatted(Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day()))
for text in ["2023-11-14T22:13:20Z", "2023-11-14T22:13:20.25+02:00", "2023-11-14"] {
    show(try? Date(text, strategy: Date.ISO8601FormatStyle()))
    show(try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
}
show(date.formatted(date: .long, time: .standard))
show(TimeZone(identifier: "Europe/Copenhagen")?.secondsFromGMT(for: date))
show(Calendar.current.dateComponents([.year, .month, .day, .hour, .weekOfYear], from: date))
show(1234567.89.formatted())
show(String(format: "%05d %.2f %x", 42, 3.14159, 255))

for text in ["e\u{301} A\u{30a} \u{fb01} \u{bd} \u{1112}\u{1161}\u{11ab}", "\u{1e9b}\u{323}", "q\u{323}\u{307}"] {
    for form in [
        text.precomposedStringWithCanonicalMapping, text.decomposedStringWithCanonicalMapping,
        text.precomposedStringWithCompatibilityMapping,
    ] { show(form.unicodeScalars.map(\.value)) }
}
show("straße éß ı i İ ﬃ".uppercased())
show("STRASSE ÉÅ İ Σ".lowercased())
show("\u{a0} x \u{2003}\n".trimmingCharacters(in: .whitespacesAndNewlines))
show("ÉßÅ".folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil))
show("could not connect failed: x".range(of: " failed: ") != nil)
show("ABC É".range(of: "é", options: .caseInsensitive) != nil)
show("ä".localizedCompare("z").rawValue)
show("a10".localizedStandardCompare("a9").rawValue)
show(NSRegularExpression.escapedPattern(for: "credential.https://a.b/c(d)"))
show("äb12".range(of: "\\p{L}+[0-9]+", options: .regularExpression) != nil)

for host in ["bücher.example", "xn--bcher-kva.example", "BÜCHER.example", "☃.net", "faß.de", "日本.example", "a b"] {
    let parts = URLComponents(string: "https://\(host)/ä?ö=1")
    show([parts?.host, parts?.encodedHost, parts?.string, URL(string: "https://\(host)/ä")?.absoluteString])
}
for encoding in [String.Encoding.utf8, .isoLatin1, .windowsCP1252, .shiftJIS, .ascii] {
    show("aé".data(using: encoding).map(Array.init))
}
show(POSIXError(.EACCES).localizedDescription)
show(CocoaError(.fileReadNoSuchFile).localizedDescription)
do { _ = try Data(contentsOf: URL(fileURLWithPath: "/nonexistent")) } catch { show(error.localizedDescription) }
do { _ = try JSONDecoder().decode([Int].self, from: Data("{".utf8)) } catch { show(error.localizedDescription) }
show(("/a/b.c" as NSString).deletingLastPathComponent)
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The same program, with the full data and with the small data."""
    folder = tmp_path_factory.mktemp("icu")
    (folder / "main.swift").write_text(PROGRAM)
    made = run([SCRIPT, folder])
    assert made.status == 0, made
    for name, options in [("full", []), ("small", made.out.splitlines())]:
        built = run(["swiftc", "-static-stdlib", "-Xlinker", "--gc-sections", *options, "-o", name, "main.swift"],
                    cwd=folder, timeout=TIME)
        assert built.status == 0, built
    return folder


@pytest.mark.parametrize("language", ["C.UTF-8", "en_US.UTF-8", "de_DE.UTF-8", "ar_EG.UTF-8", "zh_CN.UTF-8"])
def test_foundation_answers_the_same_with_the_small_data(programs, language):
    environment = clean_environment(LC_ALL=language, LANG=language, TZ="Europe/Berlin")
    full, small = (run([programs / name], environment) for name in ("full", "small"))
    assert full.status == 0 and len(full.out.splitlines()) > 50, full
    assert small == full


def test_the_small_data_replaces_the_full_data(programs):
    full, small = ((programs / name).stat().st_size for name in ("full", "small"))
    assert full - small > 25_000_000
    symbols = run(["nm", programs / "small"]).out
    assert "__wrap_icudt" in symbols and " icudt" not in symbols


def test_a_library_of_another_layout_is_refused(tmp_path):
    messages = {"icudt99_dat": "the data has another format", "icu_data": "the library has no data of ICU in one place"}
    for symbol, message in messages.items():
        (tmp_path / "data.c").write_text(f"const char {symbol}[64] = {{32}};")
        assert run(["clang", "-c", "data.c"], cwd=tmp_path).status == 0
        library = tmp_path / f"{symbol}.a"
        assert run(["ar", "rc", library, "data.o"], cwd=tmp_path).status == 0
        result = run([SCRIPT, tmp_path / "output", "--library", library])
        assert result.status == 1 and message in result.err, result
        assert not (tmp_path / "output").exists()
