import KeyServiceCore
import Testing

/// The memory of proofs of possession.
struct UsedProofsTests {
    private static let person = KeyOwner(issuer: "https://id.example", subject: "alice")

    @Test func `when a proof comes again in time, then it is refused`() throws {
        let proofs = UsedProofs(lifetime: .seconds(600))
        let start = ContinuousClock.now
        try proofs.use("a", by: Self.person, at: start)
        try proofs.use("b", by: Self.person, at: start + .seconds(599))
        for seconds in [0, 599, 600, 1198] {
            #expect(throws: OwnerVerificationError.invalidProof) {
                try proofs.use("b", by: Self.person, at: start + .seconds(seconds))
            }
        }
        #expect(throws: OwnerVerificationError.invalidProof) {
            try proofs.use("a", by: Self.person, at: start + .seconds(1199))
        }
    }

    @Test func `when a proof is old, then it is forgotten`() throws {
        let proofs = UsedProofs(lifetime: .seconds(600))
        let start = ContinuousClock.now
        try proofs.use("a", by: Self.person, at: start)
        try proofs.use("b", by: Self.person, at: start + .seconds(600))
        try proofs.use("a", by: Self.person, at: start + .seconds(1200))
        try proofs.use("c", by: Self.person, at: start + .seconds(1800))
        try proofs.use("b", by: Self.person, at: start + .seconds(3000))
    }

    @Test func `when there are too many proofs, then new ones wait`() throws {
        let proofs = UsedProofs(lifetime: .seconds(600))
        let start = ContinuousClock.now
        let persons = (0..<100).map { KeyOwner(issuer: "https://id.example", subject: "\($0)") }
        for number in 0..<100_000 { try proofs.use("\(number)", by: persons[number % 100], at: start) }
        #expect(throws: OwnerVerificationError.unavailable) {
            try proofs.use("new", by: Self.person, at: start + .seconds(599))
        }
        try proofs.use("new", by: Self.person, at: start + .seconds(600))
    }

    @Test func `when one person sends very many proofs, then others go on`() throws {
        let proofs = UsedProofs(lifetime: .seconds(600))
        let start = ContinuousClock.now
        for number in 0..<1000 { try proofs.use("\(number)", by: Self.person, at: start) }
        #expect(throws: OwnerVerificationError.unavailable) { try proofs.use("new", by: Self.person, at: start) }
        try proofs.use("new", by: KeyOwner(issuer: "https://id.example", subject: "bob"), at: start)
    }
}
