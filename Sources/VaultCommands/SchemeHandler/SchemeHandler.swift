internal import CredentialVault
internal import Foundation

/// This program as the desktop's handler of a scheme (`myapp:`) during one sign-in (RFC 8252 section 7.1). The browser
/// then sends the redirect to this program. Afterwards the scheme has its old handler again.
struct SchemeHandler {
    private let socket: RedirectSocket
    private let lock: Int32
    private let undo: @Sendable () -> Void

    /// The hidden command that the desktop starts with the redirect.
    static let command = "handle-redirect"

    /// - Parameters:
    ///   - redirectURI: the redirect URI that the provider gets.
    ///   - receive: called with each opened URL of the scheme.
    /// - Throws: `VaultError` with code `configurationInvalid`. Then nothing was changed.
    init(for redirectURI: String, receive: @escaping @Sendable (String) -> Void) throws {
        let scheme = try Self.scheme(of: redirectURI)
        let number = String(UInt32.random(in: .min ... .max), radix: 16)
        let place = try PrivateFolder.choose()
        let folder = "\(place.path)/\(PrivateFolder.prefix)\(number)"
        let entry = DesktopEntry(
            number: number, folder: folder,
            made: Self.missing(DesktopEntry.applications) + Self.missing(DefaultApplications.folder)
                + Self.missing(DefaultApplications.mainList).suffix(1) + Self.missing(place.base))
        var socket: RedirectSocket?
        var lock: Int32 = -1
        undo = try Undoing.after {
            for path in [DesktopEntry.applications, DefaultApplications.folder] {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            }
            // A link, because some desktops do not understand quotes around the path of the program.
            let program = "\(folder)/vault"
            // Written first, so that the next run can find everything after it.
            lock = try entry.write(scheme: scheme, command: [program, Self.command, "\(folder)/redirect"])
            for path in Self.missing(place.path) { mkdir(path, 0o700) }
            guard PrivateFolder.isPrivate(place.path), mkdir(folder, 0o700) == 0,
                symlink(try ProgramPath.own, program) == 0
            else { throw Self.failure("\(folder) cannot be made") }
            socket = try RedirectSocket(path: "\(folder)/redirect") { url in
                if url.lowercased().hasPrefix("\(scheme):") { receive(url) }
            }
            try DefaultApplications.put(entry.id, for: scheme)
        } _: {
            Self.remove(entry)
        }
        guard let socket else { throw Self.failure("no socket can be made") }
        self.socket = socket
        self.lock = lock
    }

    /// Undoes all changes.
    func remove() {
        socket.stop()
        undo()
        close(lock)
    }

    /// Undoes the changes of killed runs.
    static func removeAbandoned() { DesktopEntry.forEachAbandoned(remove) }

    @Sendable private static func remove(_ entry: DesktopEntry) {
        DefaultApplications.remove(entry.id)
        unlink(entry.path)
        PrivateFolder.remove(entry.folder)
        for path in entry.made.reversed() {
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            // Only if it is empty: other programs may use it by now.
            if status.st_mode & S_IFMT == S_IFDIR { rmdir(path) } else if status.st_size == 0 { unlink(path) }
        }
    }

    // MARK: - The parts

    static func failure(_ reason: String) -> VaultError {
        VaultError(
            .configurationInvalid,
            "vault cannot handle the scheme of the redirect URI: \(reason). Use --paste, or a redirect URI with http://127.0.0.1."
        )
    }

    private static func scheme(of redirectURI: String) throws -> String {
        let scheme = URLComponents(string: redirectURI)?.scheme?.lowercased() ?? ""
        guard !scheme.isEmpty, scheme.utf8.allSatisfy({ $0 != UInt8(ascii: "%") }) else {
            throw VaultError(.configurationInvalid, "The redirect URI is not a URL: \(redirectURI)")
        }
        guard !["http", "https", "file", "ftp", "mailto", "data", "javascript", "about", "blob"].contains(scheme) else {
            throw VaultError(
                .configurationInvalid,
                "vault cannot receive a redirect to \(scheme):. Use --paste, and copy the last address of the browser."
            )
        }
        return scheme
    }

    /// The folders of a path that do not exist, the outermost first.
    private static func missing(_ path: String) -> [String] {
        var paths: [String] = []
        var path = path
        while path.count > 1, access(path, F_OK) != 0, !path.contains(where: { $0 == ";" || $0.isNewline }) {
            paths.insert(path, at: 0)
            path = (path as NSString).deletingLastPathComponent
        }
        return paths
    }
}
