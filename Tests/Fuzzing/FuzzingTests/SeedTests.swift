import Foundation
import Testing

/// Reads every input that a fuzzer started from or found. A fault ends the process.
@Suite struct SeedTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Seeds")
        .standardizedFileURL

    @Test(arguments: FuzzTarget.allCases)
    func `when a seed is read, then no reader crashes`(target: FuzzTarget) async throws {
        let files = try FileManager.default.contentsOfDirectory(
            at: Self.folder.appending(path: target.rawValue), includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files.sorted(by: { $0.path < $1.path }) { await target.run(Array(try Data(contentsOf: file))) }
    }

    /// Inputs of the greatest size that comes from outside (1 MiB). Inputs of this kind made some reader slow or deep.
    @Test(arguments: FuzzTarget.allCases)
    func `when an input has a megabyte, then no reader crashes`(target: FuzzTarget) async {
        for text in Self.long { await target.run(Array(text.utf8)) }
    }

    private static let long: [String] = [
        String(repeating: "[", count: 1 << 20), "[" + String(repeating: "{},", count: 300_000) + "1]",
        String(repeating: "9", count: 1 << 20), "[1e" + String(repeating: "9", count: 1 << 20) + "]",
        String(repeating: "A-", count: 1 << 19), String(repeating: "\u{2013}", count: 300_000),
        "pkcs11:" + String(repeating: "object=a;", count: 100_000),
        "/?" + String(repeating: "state=s&", count: 100_000),
        #"{"keys":["#
            + String(repeating: #"{"kty":"EC","crv":"P-256","x":"\#(coordinate)","y":"\#(coordinate)"},"#, count: 8000)
            + "{}]}\neyJhbGciOiJFUzI1NiJ9.e30.AAAA",
    ]
    private static let coordinate = String(repeating: "A", count: 43)
}
