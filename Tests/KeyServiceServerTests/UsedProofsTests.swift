import KeyServiceCore
import Testing

/// The memory of proofs of possession.
struct UsedProofsTests {
    @Test func `when a proof comes again in time, then it is refused`() throws {
        let proofs = UsedProofs(lifetime: .seconds(600))
        let start = ContinuousClock.now
        try proofs.use("a", at: start)
        try proofs.use("b", at: start + .seconds(599))
        for seconds in [0, 599, 600, 1198] {
            #expect(throws: OwnerVerificationError.invalidProof) { try proofs.use("b", at: start + .seconds(seconds)) }
        }
        #expect(throws: OwnerVerificationError.invalidProof) { try proofs.use("a", at: start + .seconds(1199)) }
    }

    @Test func `when a proof is old, then it is forgotten`() throws {
        let proofs = UsedProofs(lifetime: .seconds(600))
        let start = ContinuousClock.now
        try proofs.use("a", at: start)
        try proofs.use("b", at: start + .seconds(600))
        try proofs.use("a", at: start + .seconds(1200))
        try proofs.use("c", at: start + .seconds(1800))
        try proofs.use("b", at: start + .seconds(3000))
    }

    @Test func `when there are too many proofs, then new ones wait`() throws {
        let proofs = UsedProofs(lifetime: .seconds(600))
        let start = ContinuousClock.now
        for number in 0..<100_000 { try proofs.use("\(number)", at: start) }
        #expect(throws: OwnerVerificationError.unavailable) { try proofs.use("new", at: start + .seconds(599)) }
        try proofs.use("new", at: start + .seconds(600))
    }
}
