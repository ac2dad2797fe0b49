internal import FoundationEssentials
internal import NIOPosix
internal import VaultBase

/// The file of a ``ProviderState``. It is replaced as a whole, so a killed provider leaves the old or the new state.
final class ProviderStateFile: Sendable {
    private let path: String
    private let written = Lock(0)

    init(path: String) { self.path = path }

    /// Reads the stored state; nil if there is no file yet.
    func load() async throws -> ProviderState? {
        let path = path
        return try await NIOThreadPool.singleton.runIfActive {
            guard FileManager.default.fileExists(atPath: path) else { return nil }
            do {
                let state = try JSONDecoder().decode(
                    ProviderState.self, from: Data(contentsOf: URL(filePath: path)))
                guard state.version == 1, state.tokenKey.count == 32, !state.signingKeys.isEmpty else {
                    throw CocoaError(.fileReadCorruptFile)
                }
                return state
            } catch {
                throw VaultDevelopmentError(
                    .stateFileUnusable, "The state file \(path) is not readable or not valid.", underlying: error)
            }
        }
    }

    /// Stores `contents`, unless a later `revision` is already stored.
    func store(_ contents: Data, revision: Int) async throws {
        try await NIOThreadPool.singleton.runIfActive { [self] in
            try written.withLock { written in
                guard revision > written else { return }
                do {
                    try replaceFile(path, with: contents)
                } catch {
                    throw VaultDevelopmentError(
                        .stateFileUnusable, "The state file \(path) cannot be written.", underlying: error)
                }
                written = revision
            }
        }
    }
}
