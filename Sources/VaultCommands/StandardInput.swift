internal import CredentialVault
internal import Foundation

/// Standard input to its end, in pieces. Throws if there is none, because the command before the pipe may have failed.
struct StandardInput: AsyncSequence, Sendable {
    struct AsyncIterator: AsyncIteratorProtocol {
        private var isEmpty = true

        mutating func next() async throws -> [UInt8]? {
            // The read may wait for a person, or for another program.
            let piece = try await OneAnswer<[UInt8]>().wait { try StandardInput.read() }
            guard !piece.isEmpty else {
                guard !isEmpty else { throw StandardInput.nothing }
                return nil
            }
            isEmpty = false
            return piece
        }
    }

    /// The error if there is nothing to store.
    static let nothing = VaultError(.configurationInvalid, "The value is empty. Nothing was changed.")

    private static let size = 65_536

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }

    @Sendable private static func read() throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
            while true {
                let count = Foundation.read(STDIN_FILENO, buffer.baseAddress, size)
                if count < 0 && errno == EINTR { continue }
                guard count >= 0 else {
                    throw VaultError(
                        .configurationInvalid, "Standard input cannot be read. Nothing was changed.")
                }
                initialized = count
                return
            }
        }
    }
}
