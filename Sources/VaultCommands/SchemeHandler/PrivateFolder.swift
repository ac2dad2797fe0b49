internal import CredentialVault
internal import Foundation

/// Where the program and the socket lie that a `.desktop` file points to.
///
/// What the file points to has to be this user's for as long as the file is there, also when everything is gone from a
/// temporary folder after a restart: otherwise another user could put a program there, and this user's desktop would
/// start it. So it is never a folder such as `/tmp`, nor one in there.
struct PrivateFolder {
    /// What the folder of each sign-in is called, up to its number.
    static let prefix = "credential-vault-"
    /// The folder in the cache, which is made when it is needed.
    private static let name = "credential-vault"

    /// It may have to be made.
    let path: String
    /// What is left when it is removed again.
    let base: String

    /// A folder whose path is short enough for a socket and needs no quotes: `$XDG_RUNTIME_DIR` where that is safe, and
    /// else one in `$XDG_CACHE_HOME`.
    static func choose() throws -> PrivateFolder {
        let environment = ProcessInfo.processInfo.environment
        func absolute(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        if let runtime = absolute("XDG_RUNTIME_DIR").flatMap(resolved), isUsable(runtime), isPrivate(runtime),
            staysPrivate(runtime)
        {
            return PrivateFolder(path: runtime, base: runtime)
        }
        let cache = absolute("XDG_CACHE_HOME") ?? "\(Vault.homeFolder)/.cache"
        let path = "\(cache)/\(name)"
        guard isUsable(path) else {
            throw SchemeHandler.failure("the path \(path) is too long, or has characters that would need quotes")
        }
        guard access(path, F_OK) != 0 || isPrivate(path) else {
            throw SchemeHandler.failure("\(path) belongs to others, or others may write to it")
        }
        return PrivateFolder(path: path, base: cache)
    }

    /// Whether it is a folder of this user's that nobody else may write to.
    static func isPrivate(_ path: String) -> Bool {
        guard let status = folderStatus(path) else { return false }
        return status.st_uid == getuid() && status.st_mode & 0o022 == 0
    }

    /// Removes the folder of one sign-in.
    static func remove(_ folder: String) {
        let (parent, last) = ((folder as NSString).deletingLastPathComponent, (folder as NSString).lastPathComponent)
        guard last.hasPrefix(prefix) else { return }
        unlink("\(folder)/redirect")
        unlink("\(folder)/vault")
        rmdir(folder)
        // Empty, unless another sign-in is under way.
        if (parent as NSString).lastPathComponent == name { rmdir(parent) }
    }

    /// Whether nobody else could make another folder in its place.
    private static func staysPrivate(_ path: String) -> Bool {
        var path = path
        while path != "/" {
            path = (path as NSString).deletingLastPathComponent
            guard let status = folderStatus(path), [0, getuid()].contains(status.st_uid), status.st_mode & 0o022 == 0
            else { return false }
        }
        return true
    }

    private static func isUsable(_ path: String) -> Bool {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-".utf8)
        return path.utf8.count <= 70 && path.utf8.allSatisfy(plain.contains)
    }

    private static func resolved(_ path: String) -> String? {
        realpath(path, nil).map { pointer in
            defer { free(pointer) }
            return String(cString: pointer)
        }
    }

    private static func folderStatus(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR ? status : nil
    }
}
