internal import CSodium

/// The facts about the C libraries for a diagnosis.
public enum Libraries {
    /// The version of the loaded libsodium; nil if it cannot be started.
    public static var sodiumVersion: String? {
        Sodium.isReady ? String(cString: sodium_version_string()) : nil
    }

    /// Runs the Argon2id example of RFC 9106 section 5.3, and seals and opens some data.
    public static func selfTest() -> Bool {
        do {
            let tag = try Argon2id.deriveUnchecked(
                password: SecretBytes(copying: [UInt8](repeating: 1, count: 32)),
                salt: [UInt8](repeating: 2, count: 16),
                secret: SecretBytes(copying: [UInt8](repeating: 3, count: 8)),
                associatedData: [UInt8](repeating: 4, count: 12),
                parameters: Argon2Parameters(passes: 3, memoryKiB: 32, lanes: 4), count: 32)
            let expected: [UInt8] = [
                0x0d, 0x64, 0x0d, 0xf5, 0x8d, 0x78, 0x76, 0x6c, 0x08, 0xc0, 0x37, 0xa3, 0x4a, 0x8b, 0x53, 0xc9,
                0xd0, 0x1e, 0xf0, 0x45, 0x2d, 0x75, 0xb6, 0x5e, 0xb5, 0x25, 0x20, 0xe9, 0x6b, 0x01, 0xe6, 0x59,
            ]
            guard tag.withUnsafeBytes({ $0.elementsEqual(expected) }) else { return false }
            let context = SealingContext(purpose: "self-test", issuer: "", subject: "", id: "")
            let sealed = try SealedEnvelope.seal(tag, key: tag, context: context)
            return try SealedEnvelope.open(sealed, key: tag, context: context).isEqual(to: tag)
        } catch {
            return false
        }
    }
}
