internal import Foundation

/// A file with the rules or settings of a whole machine. Only root can change it.
package struct MachineFile {
    private let path: String
    private let owner: UInt32
    private let kind: String

    private static let greatestSize = 65_536

    /// - Parameters:
    ///   - path: the path of the file.
    ///   - owner: the user id that must own the file and its folder.
    ///   - kind: what a message calls the file, such as `policy file`.
    package init(path: String, owner: UInt32 = 0, kind: String) {
        self.path = path
        self.owner = owner
        self.kind = kind
    }

    /// Reads the file.
    ///
    /// - Returns: nil if the file does not exist.
    /// - Throws: ``VaultError`` with code `configurationInvalid`. The text says what is wrong with the file.
    package func read() throws -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            let code = errno
            var link = stat()
            // A broken link is a mistake. It is not the same as no file.
            if code == ENOENT && lstat(path, &link) != 0 { return nil }
            throw unusable("It cannot be read (error \(code)).")
        }
        defer { close(descriptor) }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        var (of, ofFolder) = (stat(), stat())
        guard fstat(descriptor, &of) == 0, of.st_mode & S_IFMT == S_IFREG, stat(folder, &ofFolder) == 0 else {
            throw unusable("It is not a regular file.")
        }
        try requireSafe(of, path, .policyFileUnsafe)
        // A user with write access to the folder can remove or replace the file.
        try requireSafe(ofFolder, folder, .policyFolderUnsafe)
        return try bytes(of: descriptor)
    }

    /// The error of a file with wrong content.
    package func unusable(_ reason: String, detail: VaultError.Detail? = nil) -> VaultError {
        VaultError(
            .configurationInvalid,
            "The \(kind) \(path) cannot be used. \(reason) Ask the administrator to correct it.", detail: detail)
    }

    private func requireSafe(_ status: stat, _ name: String, _ detail: VaultError.Detail) throws {
        guard status.st_uid == owner, status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw VaultError(
                .configurationInvalid,
                "The \(kind) \(path) cannot be used, because users other than root can change \(name). Ask the administrator to correct its owner and its mode.",
                detail: detail, value: name)
        }
    }

    private func bytes(of descriptor: Int32) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.greatestSize + 1)
        var count = 0
        while count < bytes.count {
            let read = bytes.withUnsafeMutableBytes {
                Foundation.read(descriptor, $0.baseAddress?.advanced(by: count), $0.count - count)
            }
            if read < 0 && errno == EINTR { continue }
            guard read >= 0 else { throw unusable("It cannot be read (error \(errno)).") }
            if read == 0 { break }
            count += read
        }
        guard count <= Self.greatestSize else { throw unusable("It is larger than 64 KiB.") }
        return Array(bytes[..<count])
    }
}
