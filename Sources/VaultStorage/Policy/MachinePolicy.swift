internal import Foundation
internal import VaultBase

// The policy that an administrator sets for every program on the machine that opens a `Vault`.
extension VaultPolicy {
    /// The path of the machine's policy: `/etc/credential-vault/policy.json`.
    public static let machineFile = "/etc/credential-vault/policy.json"

    /// Reads the machine's policy.
    ///
    /// The file is a JSON object. A missing name sets no limit. The names are `minimum-pin-length` and
    /// `minimum-password-length` (characters), `maximum-offline-days`, `maximum-idle-minutes`, `maximum-session-hours`,
    /// `allowed-unlock-methods` and `forbidden-unlock-methods` (lists of unlock methods), `allowed-issuers` and
    /// `allowed-key-services` (lists of URLs), `key-service-protocol` (1 or 2), `key-service-keys` (a list of one or
    /// two identity keys), `revocation-check-hours`, and `require-key-service` (true or false). The file and its folder
    /// must belong to root. Nobody else may write them.
    ///
    /// - Returns: nil if there is no file.
    /// - Throws: ``VaultError`` with code `configurationInvalid`. The text says what is wrong with the file.
    public static func ofMachine() throws -> VaultPolicy? { try ofMachine(file: machineFile, owner: 0) }

    /// As ``ofMachine()``.
    ///
    /// - Parameter owner: the user id that must own the file and its folder.
    package static func ofMachine(file: String, owner: UInt32) throws -> VaultPolicy? {
        guard let bytes = try PolicyFile(path: file, owner: owner).read() else { return nil }
        return try VaultPolicy(json: bytes, from: file)
    }

    /// - Parameter path: the file that the JSON is from, for the text of an error.
    package init(json: [UInt8], from path: String) throws {
        guard case .object(let members)? = JSONValue(strictObjectIn: json) else {
            throw Self.unusable(path, "It is not one JSON object, or it has a name twice.")
        }
        self.init(minimumPINLength: 0, minimumPasswordLength: 0)
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard let rule = PolicyRule.all.first(where: { $0.name == name }) else {
                throw Self.unusable(path, "This program does not know the name \(name.debugDescription).")
            }
            do { try rule.read(value, &self) } catch {
                throw Self.unusable(path, "\(name) has to be \(error.rule)", detail: error.detail)
            }
        }
    }

    fileprivate static func unusable(
        _ path: String, _ reason: String, detail: VaultError.Detail? = nil
    ) -> VaultError {
        VaultError(
            .configurationInvalid,
            "The policy file \(path) cannot be used. \(reason) Ask the administrator to correct it.", detail: detail)
    }
}

private struct PolicyFile {
    let path: String
    let owner: UInt32

    private static let greatestSize = 65_536

    /// - Returns: nil if the file does not exist.
    func read() throws -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            let code = errno
            var link = stat()
            // A broken link is a mistake. It is not the same as no policy.
            if code == ENOENT && lstat(path, &link) != 0 { return nil }
            throw VaultPolicy.unusable(path, "It cannot be read (error \(code)).")
        }
        defer { close(descriptor) }
        let folder = (path as NSString).deletingLastPathComponent
        var (of, ofFolder) = (stat(), stat())
        guard fstat(descriptor, &of) == 0, of.st_mode & S_IFMT == S_IFREG, stat(folder, &ofFolder) == 0 else {
            throw VaultPolicy.unusable(path, "It is not a regular file.")
        }
        try requireSafe(of, path, .policyFileUnsafe)
        // A user with write access to the folder can remove or replace the file.
        try requireSafe(ofFolder, folder, .policyFolderUnsafe)
        return try bytes(of: descriptor)
    }

    private func requireSafe(_ status: stat, _ name: String, _ detail: VaultError.Detail) throws {
        guard status.st_uid == owner, status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw VaultError(
                .configurationInvalid,
                "The policy file \(path) cannot be used, because users other than root can change \(name). Ask the administrator to correct its owner and its mode.",
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
            guard read >= 0 else { throw VaultPolicy.unusable(path, "It cannot be read (error \(errno)).") }
            if read == 0 { break }
            count += read
        }
        guard count <= Self.greatestSize else { throw VaultPolicy.unusable(path, "It is larger than 64 KiB.") }
        return Array(bytes[..<count])
    }
}
