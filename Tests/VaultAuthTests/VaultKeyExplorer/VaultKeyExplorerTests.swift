import Foundation
import Testing

/// Programs that replace the vault key beside each other, and beside logins, renewals and writes.
@Suite(.timeLimit(.minutes(3))) struct VaultKeyExplorerTests {
    @Test(arguments: 0..<38 as Range<UInt64>)
    func `when programs replace the key together, then nothing is lost`(seed: UInt64) async throws {
        try await explore(seed, folder: nil)
    }

    @Test(arguments: 100..<102 as Range<UInt64>)
    func `when programs share a disk store, then nothing is lost`(seed: UInt64) async throws {
        let folder = NSTemporaryDirectory() + "vault-key-explorer-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await explore(seed, folder: folder)
    }

    private func explore(_ seed: UInt64, folder: String?) async throws {
        let world = try await VaultKeyWorld(seed: seed, folder: folder)
        let findings = try await Explorer(crashes: 2).explore(world, seed: seed)
        #expect(findings.complaints.isEmpty, "\(findings.events.suffix(400).joined(separator: "\n"))")
    }
}
