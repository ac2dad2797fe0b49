import KeyServiceClient
import Testing
import VaultCrypto
import VaultStorage
import VaultUnlock

/// The meaning of a part's error for a program, which decides by it what to do next.
@Suite struct VaultErrorTests {
    private func code(_ error: any Error) -> VaultError.Code? { (VaultError.converting(error) as? VaultError)?.code }

    @Test func `when a store error is converted, then its code fits`() {
        let expected: [(StoreError.Code, VaultError.Code)] = [
            (.unreadable, .storeUnreadable), (.corrupt, .storeCorrupt), (.busy, .busy),
            (.unsafePermissions, .configurationInvalid), (.newerVersion, .storeUnreadable),
            (.noSuchAccount, .accountNotFound), (.aliasTaken, .aliasTaken), (.alreadyLocked, .busy),
        ]
        for (part, whole) in expected { #expect(code(StoreError(part, "text")) == whole) }
    }

    @Test func `when a service error is converted, then its code fits`() {
        let expected: [(KeyServiceError.Code, VaultError.Code)] = [
            (.wrongSecret, .wrongSecret), (.keyLocked, .keyLocked), (.noSuchKey, .keyMissing),
            (.unavailable, .keyServiceUnavailable), (.invalidAnswer, .configurationInvalid),
            (.invalidURL, .configurationInvalid),
        ]
        for (part, whole) in expected { #expect(code(KeyServiceError(part, "text")) == whole) }
    }

    @Test func `when memory runs out, then no damage is reported`() async throws {
        #expect(code(CancellationError()) == .cancelled)
        do {
            _ = try SecretBytes(count: .max) { _ in }
            Issue.record("that much memory was there")
        } catch {
            #expect(code(error) == .outOfMemory)
        }
        do {
            _ = try KeyDerivation.hkdf(SecretBytes(copying: [1]), info: "x", count: 0)
            Issue.record("a key of no bytes was derived")
        } catch {
            #expect(code(error) == .storeCorrupt)
        }
    }
}
