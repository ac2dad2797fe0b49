import Testing

/// Every order of events in small worlds that run the product's code.
@Suite struct ExplorerTests {
    @Test(arguments: [(crashes: 0, failures: 2), (1, 1), (2, 0)])
    func `when two programs refresh, then each token is used once`(crashes: Int, failures: Int) async throws {
        let findings = try await Explorer(crashes: crashes).explore { RefreshWorld(failures: failures) }
        findings.expectNothing()
        #expect(findings.runs > 90)
    }

    @Test func `when a lock ends before storing, then the explorer notices`() async throws {
        let findings = try await Explorer(crashes: 0).explore { RefreshWorld(failures: 1, fault: .letsGoOfTheLock) }
        findings.expect(" is used twice.")
    }

    @Test(arguments: [(crashes: 0, logins: 2, thefts: 2), (1, 2, 1)])
    func `when guesses race, then no more than allowed are evaluated`(
        crashes: Int, logins: Int, thefts: Int
    ) async throws {
        let prepared = try await GuessWorld.Prepared()
        let findings = try await Explorer(crashes: crashes).explore {
            try GuessWorld(prepared, renews: false, logins: logins, thefts: thefts)
        }
        findings.expectNothing()
        #expect(findings.runs > 100)
    }

    @Test func `when the owner logs in, then thieves gain no guesses`() async throws {
        let prepared = try await GuessWorld.Prepared()
        let findings = try await Explorer(crashes: 0).explore {
            try GuessWorld(prepared, renews: true, logins: 1, thefts: 3)
        }
        findings.expectNothing()
        #expect(findings.runs > 100)
    }

    @Test func `when right guesses settle late, then the explorer notices`() async throws {
        let prepared = try await GuessWorld.Prepared()
        let findings = try await Explorer(crashes: 1).explore {
            try GuessWorld(prepared, renews: false, logins: 2, thefts: 1, fault: .settlesLate)
        }
        findings.expect("Locked after a right answer and 0 guesses.")
    }

    @Test func `when wrong guesses renew no key, then the explorer notices`() async throws {
        let prepared = try await GuessWorld.Prepared()
        let findings = try await Explorer(crashes: 0).explore {
            try GuessWorld(prepared, renews: true, logins: 1, thefts: 3, fault: .keepsTheKey)
        }
        findings.expect("3 wrong guesses were evaluated.")
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
