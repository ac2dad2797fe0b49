internal import CredentialVault
internal import Foundation

/// The folder of the program and the socket that a `.desktop` file points to.
///
/// The folder must belong to this user as long as the file exists, also after a restart that empties temporary folders.
/// Otherwise another user could put a program there, and this user's desktop would start it. So the folder is never in
/// `/tmp` or a similar place.
struct PrivateFolder {
    /// The name of each sign-in's folder, without its number.
    static let prefix = "credential-vault-"
    /// The name of the folder in the cache.
    private static let name = "credential-vault"

    /// The path of the folder, which may not exist yet.
    let path: String
    /// The part of the path that stays after a removal.
    let base: String

    /// Chooses a folder whose path is short enough for a socket and needs no quotes: `$XDG_RUNTIME_DIR` if that is
    /// safe, else a folder in `$XDG_CACHE_HOME`.
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

    /// Whether the path is a folder that belongs to this user and that nobody else may write to.
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
        // This works only if no other sign-in uses the folder.
        if (parent as NSString).lastPathComponent == name { rmdir(parent) }
    }

    /// Whether no other user could replace the folder.
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
