import Foundation
import TestSupport
import Testing

@testable import VaultCrypto

/// The bytes that hexadecimal text stands for.
func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

extension SecretBytes {
    /// The bytes of a secret, for tests.
    borrowing func reveal() -> [UInt8] { withUnsafeBytes { Array($0) } }
}

/// The code of the error that `body` throws; nil if it throws none. An error of another type fails the test.
func code(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> VaultCryptoError.Code? {
    await thrown(\VaultCryptoError.code, sourceLocation: sourceLocation, body)
}

/// Test vectors of Project Wycheproof, in `Tests/Vectors`.
enum Wycheproof {
    struct Case {
        let id: Int
        let isValid: Bool
        private let fields: [String: Any]

        init?(_ fields: [String: Any]) {
            guard let id = fields["tcId"] as? Int, let result = fields["result"] as? String else { return nil }
            self.id = id
            isValid = result == "valid"
            self.fields = fields
        }

        func bytes(_ name: String) throws -> [UInt8] { hex(try #require(fields[name] as? String)) }
        func number(_ name: String) throws -> Int { try #require(fields[name] as? Int) }
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Vectors/wycheproof").standardizedFileURL

    /// The cases of a file.
    ///
    /// - Throws: when the file is missing, or has another number of cases.
    static func cases(_ file: String, count: Int) throws -> [Case] {
        let data = try Data(contentsOf: folder.appending(path: file))
        let json = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        let groups = try #require(json?["testGroups"] as? [[String: Any]])
        let cases = groups.flatMap { $0["tests"] as? [[String: Any]] ?? [] }.compactMap(Case.init)
        try #require(cases.count == count, "\(file) is not the file that it was")
        return cases
    }
}
