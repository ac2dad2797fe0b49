import Testing

/// Every order of events in small worlds, made of the product's own code.
@Suite struct ExplorerTests {
    @Test(arguments: [(crashes: 0, failures: 2), (1, 1), (2, 0)])
    func `two programs never lose a token nor use one twice`(crashes: Int, failures: Int) async throws {
        let findings = try await Explorer(crashes: crashes).explore { RefreshWorld(failures: failures) }
        findings.expectNothing()
        #expect(findings.runs > 90)
    }

    @Test func `a lock that ends while the token is not stored is found out`() async throws {
        let findings = try await Explorer(crashes: 0).explore { RefreshWorld(failures: 1, fault: .letsGoOfTheLock) }
        findings.expect(" is used twice.")
    }
}

extension Explorer.Findings {
    fileprivate func expectNothing() {
        #expect(complaints.isEmpty, "after \(runs) runs: \(events.joined(separator: ", "))")
    }

    fileprivate func expect(_ complaint: String) {
        #expect(
            complaints.contains { $0.hasSuffix(complaint) },
            "after \(runs) runs: \(complaints), \(events.joined(separator: ", "))")
    }
}
