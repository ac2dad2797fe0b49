internal import Foundation
package import KeyServiceCore

extension KeyServiceFolder {
    /// Moves all keys of the folder's database into a shared store, which must be new. No server may run. After a
    /// failure, call it again.
    ///
    /// - Parameters:
    ///   - report: gets the number of keys that are copied, now and then.
    /// - Returns: the number of keys; nil if an earlier call had moved them.
    /// - Throws: ``KeyServiceServerError`` with code `busy` if a server or another command uses the folder,
    ///   `configurationInvalid` if the target is in use, another move into it has begun, or a master key is missing,
    ///   `storeTooNew` or `storeUnusable`.
    package func moveKeys(
        into target: any KeyRecordOperations, report: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> Int? {
        let source = try openLocked()
        defer { source.close() }
        let lock = try FolderLock(folder: path, toMove: true)
        defer { lock.release() }
        // A server with these files must be able to use the target.
        _ = try await masterKeys().match(source.state().masterKeys)
        let mark = try HighWaterMark(path: highWaterMarkPath)
        let state = try await source.state()
        if state.retiredBecause == nil { try await mark.check(state) }
        let resolved = realpath(path, nil)
        defer { free(resolved) }
        let folder = resolved.map { String(cString: $0) } ?? path
        let count = try await StoreMove(folder: folder, source: source, target: target, report: report).run()
        try await mark.raise(to: target.state())
        return count
    }
}
