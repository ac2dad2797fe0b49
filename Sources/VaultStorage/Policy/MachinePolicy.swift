internal import Foundation
internal import VaultBase
internal import VaultCrypto

// The policy that an administrator sets for every program on the machine that opens a `Vault`.
extension VaultPolicy {
    /// The path of the machine's policy: `/etc/credential-vault/policy.json`.
    public static let machineFile = "/etc/credential-vault/policy.json"

    /// Reads the machine's policy.
    ///
    /// The file is a JSON object. A missing name sets no limit. The names are `minimum-pin-length` and
    /// `minimum-password-length` (characters), `maximum-offline-days`, `maximum-idle-minutes`, `maximum-session-hours`,
    /// `allowed-ways-in` (a list of kinds of keyslots), `allowed-issuers` and `allowed-key-services` (lists of URLs),
    /// `key-service-protocol` (1 or 2), `key-service-keys` (a list of one or two identity keys), and
    /// `revocation-check-hours`.
    /// The file and its folder must belong to root. Nobody else may write them.
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
            switch name {
            case "minimum-pin-length": minimumPINLength = try Self.number(value, 1...64, name, path)
            case "minimum-password-length": minimumPasswordLength = try Self.number(value, 1...1024, name, path)
            case "maximum-offline-days": maximumOfflineDays = try Self.number(value, 0...3650, name, path)
            case "maximum-idle-minutes": maximumIdleMinutes = try Self.number(value, 1...10_080, name, path)
            case "maximum-session-hours": maximumSessionHours = try Self.number(value, 1...8760, name, path)
            case "key-service-protocol": keyServiceProtocol = try Self.number(value, 1...2, name, path)
            case "revocation-check-hours": revocationCheckHours = try Self.number(value, 1...8760, name, path)
            case "allowed-issuers": allowedIssuers = try Self.urls(value, name, path)
            case "allowed-key-services": allowedKeyServices = try Self.urls(value, name, path)
            case "key-service-keys": keyServiceKeys = try Self.keys(value, name, path)
            case "allowed-ways-in": allowedWaysIn = try Self.kinds(value, name, path)
            default: throw Self.unusable(path, "This program does not know the name \(name.debugDescription).")
            }
        }
    }

    private static func number(
        _ value: JSONValue, _ range: ClosedRange<Int>, _ name: String, _ path: String
    ) throws -> Int {
        guard let number = value.exactInteger.flatMap(Int.init), range.contains(number) else {
            throw unusable(path, "\(name) has to be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    private static func kinds(_ value: JSONValue, _ name: String, _ path: String) throws -> Set<Keyslot.Kind> {
        guard let names = value.strings, !names.isEmpty, names.allSatisfy({ !$0.isEmpty }) else {
            throw unusable(path, "\(name) has to be a list of ways in, such as [\"password\", \"pin\"].")
        }
        return Set(names.map(Keyslot.Kind.init))
    }

    private static func keys(_ value: JSONValue, _ name: String, _ path: String) throws -> Set<String> {
        guard let keys = value.strings, (1...2).contains(keys.count),
            keys.allSatisfy({ Base64URL.decode($0).map { Signature.isPublicKey($0) } ?? false })
        else {
            throw unusable(
                path, "\(name) has to be a list of one or two identity keys of key services, in base64url.",
                detail: .policyKeysInvalid)
        }
        return Set(keys)
    }

    private static func urls(_ value: JSONValue, _ name: String, _ path: String) throws -> Set<String> {
        guard let urls = value.strings, !urls.isEmpty,
            urls.allSatisfy({ $0.contains("://") && (try? ServerEndpoint($0)) != nil })
        else {
            throw unusable(path, "\(name) has to be a list of https URLs, such as [\"https://login.example.com\"].")
        }
        return Set(urls)
    }

    fileprivate static func unusable(
        _ path: String, _ reason: String, detail: VaultError.Detail? = nil
    ) -> VaultError {
        VaultError(
            .configurationInvalid,
            "The policy file \(path) cannot be used. \(reason) Ask the administrator to correct it.", detail: detail)
    }
}

/// The file with the machine's policy.
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
