internal import CredentialVault
internal import Foundation

/// Makes this program the desktop's handler of a scheme (`myapp:`) for the time of one login, so that the browser can come
/// back to it (RFC 8252 section 7.1). What the scheme was for before, it is for again afterwards.
struct SchemeHandler {
    private let socket: RedirectSocket
    private let lock: Int32
    private let undo: @Sendable () -> Void

    /// The hidden command that the desktop starts with the redirect.
    static let command = "handle-redirect"

    /// - Parameters:
    ///   - redirectURI: as the provider is told.
    ///   - receive: a URL of the scheme that was opened.
    /// - Throws: `VaultError` with code `configurationInvalid`, and nothing was changed then.
    init(for redirectURI: String, receive: @escaping @Sendable (String) -> Void) throws {
        let scheme = try Self.scheme(of: redirectURI)
        let number = String(UInt32.random(in: .min ... .max), radix: 16)
        let folder = try "\(Self.temporaryFolder())/credential-vault-\(number)"
        let entry = DesktopEntry(
            number: number, folder: folder,
            made: Self.missing(DesktopEntry.applications) + Self.missing(DefaultApplications.folder)
                + Self.missing(DefaultApplications.mainList).suffix(1))
        var socket: RedirectSocket?
        var lock: Int32 = -1
        undo = try Undoing.after {
            for path in [DesktopEntry.applications, DefaultApplications.folder] {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            }
            // A link, because not every desktop understands quotes around the path of the program.
            let program = "\(folder)/vault"
            // First of all, so that everything after it can be found by the next run.
            lock = try entry.write(scheme: scheme, command: [program, Self.command, "\(folder)/redirect"])
            guard mkdir(folder, 0o700) == 0, symlink(try Self.executable(), program) == 0 else {
                throw Self.failure("\(folder) cannot be made")
            }
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

    /// Puts everything back as it was.
    func remove() {
        socket.stop()
        undo()
        close(lock)
    }

    /// Puts back what a killed run could not.
    static func removeAbandoned() { DesktopEntry.forEachAbandoned(remove) }

    @Sendable private static func remove(_ entry: DesktopEntry) {
        DefaultApplications.remove(entry.id)
        unlink(entry.path)
        if (entry.folder as NSString).lastPathComponent.hasPrefix("credential-vault-") {
            unlink("\(entry.folder)/redirect")
            unlink("\(entry.folder)/vault")
            rmdir(entry.folder)
        }
        for path in entry.made.reversed() {
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            // Only what is empty again: others may have used it meanwhile.
            if status.st_mode & S_IFMT == S_IFDIR { rmdir(path) } else if status.st_size == 0 { unlink(path) }
        }
    }

    // MARK: - The parts

    static func failure(_ reason: String) -> VaultError {
        VaultError(
            .configurationInvalid,
            "The redirect URI's scheme cannot be taken over: \(reason). Use --paste, or a redirect URI with http://127.0.0.1."
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
                "A redirect to \(scheme): cannot be received by this program. Use --paste, and copy the address that the browser ends at."
            )
        }
        return scheme
    }

    /// A folder whose path is short enough for a socket and needs no quotes.
    private static func temporaryFolder() throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let candidates = [environment["XDG_RUNTIME_DIR"], environment["TMPDIR"], "/tmp"].compactMap(\.self)
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-".utf8)
        guard
            let folder = candidates.first(where: {
                $0.hasPrefix("/") && $0.utf8.count <= 70 && $0.utf8.allSatisfy(plain.contains) && access($0, W_OK) == 0
            })
        else { throw failure("there is no temporary folder to write to") }
        return folder
    }

    private static func executable() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    /// What of a path has to be made, the outermost first.
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
