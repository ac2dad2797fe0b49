internal import CArgon2
internal import Foundation

/// The cost of one Argon2id (RFC 9106). It is stored beside the protected data, and checked before Argon2id runs.
public struct Argon2Parameters: Sendable, Hashable, Codable {
    /// The number of passes (`t`).
    public var passes: UInt32
    /// The memory in KiB (`m`).
    public var memoryKiB: UInt32
    /// The number of lanes (`p`).
    public var lanes: UInt32

    /// Makes a cost. It is checked when it is used: 1 to 16 passes, 1 to 16 lanes, and 64 KiB to 2 GiB of memory, with
    /// at least 8 KiB for each lane.
    ///
    /// - Parameters:
    ///   - passes: the number of passes.
    ///   - memoryKiB: the memory in KiB.
    ///   - lanes: the number of lanes.
    public init(passes: UInt32, memoryKiB: UInt32, lanes: UInt32) {
        self.passes = passes
        self.memoryKiB = memoryKiB
        self.lanes = lanes
    }

    /// The cost of a new password: 3 passes over 64 MiB in 4 lanes, the second choice of RFC 9106 section 4.
    public static let standard = Argon2Parameters(passes: 3, memoryKiB: 64 * 1024, lanes: 4)
    /// The key service's cost of a secret other than a `cv1.` one: the standard cost in one lane.
    public static let server = Argon2Parameters(passes: 3, memoryKiB: 64 * 1024, lanes: 1)
    /// The smallest accepted cost, for tests only. It is far too small to protect a password.
    public static let insecureForTests = Argon2Parameters(passes: 1, memoryKiB: 64, lanes: 1)

    /// Refuses parameters that are too weak, or too expensive for the machine.
    func validate() throws {
        guard (1...16).contains(passes), (1...16).contains(lanes), (8 * lanes...2 * 1024 * 1024).contains(memoryKiB),
            memoryKiB >= 64
        else {
            throw VaultCryptoError(
                .invalidInput,
                "Argon2 parameters are out of bounds (1 to 16 passes, 1 to 16 lanes, 64 KiB and 8 KiB a lane to 2 GiB)")
        }
    }
}

/// Argon2id with a secret input and parallel lanes, which libsodium does not offer.
public enum Argon2id {
    /// Derives `count` bytes from a password. It blocks and uses much memory, so do not run it on the cooperative
    /// thread pool: see ``Argon2id/derive(password:salt:secret:parameters:count:)``.
    ///
    /// - Parameters:
    ///   - password: any bytes.
    ///   - salt: at least 8 bytes, random per password.
    ///   - secret: a key that a guesser also needs (RFC 9106 section 3.1, `K`); may be empty.
    ///   - associatedData: RFC 9106's `X`; may be empty.
    ///   - parameters: checked against their bounds first.
    ///   - count: the size of the result in bytes.
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` or `outOfMemory`.
    public static func deriveBlocking(
        password: borrowing SecretBytes, salt: [UInt8], secret: borrowing SecretBytes, associatedData: [UInt8] = [],
        parameters: Argon2Parameters, count: Int = 32
    ) throws -> SecretBytes {
        try parameters.validate()
        return try deriveUnchecked(
            password: password, salt: salt, secret: secret, associatedData: associatedData, parameters: parameters,
            count: count)
    }

    /// Derives without the bounds, as the published vectors use less memory than allowed.
    static func deriveUnchecked(
        password: borrowing SecretBytes, salt: [UInt8], secret: borrowing SecretBytes, associatedData: [UInt8],
        parameters: Argon2Parameters, count: Int
    ) throws -> SecretBytes {
        var salt = salt
        var associatedData = associatedData
        return try SecretBytes(count: count) { output in
            let status = password.withUnsafeBytes { password in
                secret.withUnsafeBytes { secret in
                    salt.withUnsafeMutableBufferPointer { salt in
                        associatedData.withUnsafeMutableBufferPointer { data in
                            // libargon2 takes mutable pointers, but changes its inputs only with a "clear" flag.
                            // ARGON2_DEFAULT_FLAGS has none.
                            var context = argon2_context()
                            context.out = output.assumingMemoryBound(to: UInt8.self).baseAddress
                            context.outlen = UInt32(count)
                            context.pwd = UnsafeMutablePointer(
                                mutating: password.assumingMemoryBound(to: UInt8.self).baseAddress)
                            context.pwdlen = UInt32(password.count)
                            context.salt = salt.baseAddress
                            context.saltlen = UInt32(salt.count)
                            context.secret = UnsafeMutablePointer(
                                mutating: secret.assumingMemoryBound(to: UInt8.self).baseAddress)
                            context.secretlen = UInt32(secret.count)
                            context.ad = data.baseAddress
                            context.adlen = UInt32(data.count)
                            context.t_cost = parameters.passes
                            context.m_cost = parameters.memoryKiB
                            context.lanes = parameters.lanes
                            context.threads = min(
                                parameters.lanes, UInt32(max(1, ProcessInfo.processInfo.activeProcessorCount)))
                            context.version = ARGON2_VERSION_13.rawValue
                            context.allocate_cbk = { HugePages.allocate($0, $1) }
                            context.free_cbk = { HugePages.free($0, $1) }
                            return argon2id_ctx(&context)
                        }
                    }
                }
            }
            switch status {
            case ARGON2_OK.rawValue: return
            case ARGON2_MEMORY_ALLOCATION_ERROR.rawValue, ARGON2_THREAD_FAIL.rawValue:
                throw VaultCryptoError(.outOfMemory)
            default:
                throw VaultCryptoError(.invalidInput, "Argon2 refused its input (code \(status))")
            }
        }
    }

    private static let queue = DispatchQueue(label: "credential-vault.argon2")

    /// Derives `count` bytes from a password on its own thread. One derivation runs at a time in this process, which
    /// saves memory and keeps the cooperative pool free. Cancellation does not stop it.
    public static func derive(
        password: borrowing SecretBytes, salt: [UInt8], secret: borrowing SecretBytes, parameters: Argon2Parameters,
        count: Int = 32
    ) async throws -> SecretBytes {
        let password = try SecretBox(password.copy())
        let secret = try SecretBox(secret.copy())
        let result: SecretBox = try await withCheckedThrowingContinuation { continuation in
            queue.async { @Sendable in
                continuation.resume(
                    with: Result {
                        try SecretBox(
                            deriveBlocking(
                                password: password.take(), salt: salt, secret: secret.take(), parameters: parameters,
                                count: count))
                    })
            }
        }
        return try result.take()
    }
}
