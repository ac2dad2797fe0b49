internal import Foundation
internal import VaultDevelopment

/// The folder with the data of the servers, kept or temporary.
final class DataFolder {
    let path: String
    let isTemporary: Bool
    private let lock: Int32

    private static let addressesFile = "addresses.json"

    /// Makes the folder if it is missing, and locks it. The lock ends with the process.
    /// - Parameter path: nil for a temporary folder.
    init(path: String?) throws {
        isTemporary = path == nil
        self.path =
            path ?? FileManager.default.temporaryDirectory.appending(path: "vault-dev-\(UUID().uuidString)").path()
        do {
            try FileManager.default.createDirectory(
                atPath: self.path, withIntermediateDirectories: !isTemporary,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw VaultDevError("The folder \(self.path) cannot be made: \(error.localizedDescription)")
        }
        lock = open("\(self.path)/vault-dev.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw VaultDevError("The folder \(self.path) cannot be written to.") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            throw VaultDevError("Another vault-dev uses the folder \(self.path).")
        }
    }

    /// The addresses to listen on: the ones asked for, else those of the last time, else any.
    ///
    /// The addresses are kept because accounts belong to an issuer, and the issuer is an address.
    func addresses(
        provider: LoopbackAddress?, keyService: LoopbackAddress?, backend: LoopbackAddress?
    ) -> Addresses {
        let file = URL(filePath: "\(path)/\(Self.addressesFile)")
        let last = (try? Data(contentsOf: file)).flatMap { try? JSONDecoder().decode(Addresses.self, from: $0) }
        var result = last ?? Addresses()
        if let provider { result.provider = provider }
        if let keyService { result.keyService = keyService }
        if let backend { result.backend = backend }
        return result
    }

    func remember(_ addresses: Addresses) throws {
        let file = "\(path)/\(Self.addressesFile)"
        do {
            try replaceFile(file, with: JSONEncoder().encode(addresses))
        } catch {
            throw VaultDevError("\(file) cannot be written: \(error)")
        }
    }

    /// Unlocks the folder, and removes it if it is temporary.
    func close() {
        // The key service's store may still be closing. SQLite then removes its files meanwhile, and a removal may
        // fail.
        for _ in 0..<10 where isTemporary && FileManager.default.fileExists(atPath: path) {
            try? FileManager.default.removeItem(atPath: path)
        }
        Foundation.close(lock)
    }
}

/// Why vault-dev cannot go on, for the person at the terminal.
struct VaultDevError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
