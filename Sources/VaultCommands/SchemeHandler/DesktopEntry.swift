internal import CredentialVault
internal import Foundation

/// The `.desktop` file that makes the desktop hand this program a redirect (freedesktop.org Desktop Entry
/// Specification). The file names everything that belongs to it. Another run can then clean up after a killed run.
///
/// The program that made the file keeps it locked. An unlocked file is left from a killed run.
struct DesktopEntry {
    static let prefix = "credential-vault-redirect-"
    private static let folderKey = "X-CredentialVault-Folder"
    private static let madeKey = "X-CredentialVault-Made"

    /// `credential-vault-redirect-….desktop`: its name in the lists of default applications.
    let id: String
    /// The private folder with the socket.
    let folder: String
    /// The files and folders that were made, in this order.
    let made: [String]

    var path: String { "\(Self.applications)/\(id)" }

    /// `$XDG_DATA_HOME/applications`.
    static var applications: String { "\((Vault.standardFolder as NSString).deletingLastPathComponent)/applications" }

    init(number: String, folder: String, made: [String]) {
        id = "\(Self.prefix)\(number).desktop"
        self.folder = folder
        self.made = made
    }

    /// Writes the file and locks it.
    ///
    /// - Parameters:
    ///   - scheme: the scheme of the URLs that the command takes.
    ///   - command: the command line. Its words must not need quotes, because some desktops do not understand quotes.
    /// - Returns: the descriptor that holds the lock.
    func write(scheme: String, command: [String]) throws -> Int32 {
        let text = """
            [Desktop Entry]
            Type=Application
            Name=Credential Vault
            Comment=Takes the browser back to the waiting sign-in. Removed afterwards.
            NoDisplay=true
            Terminal=false
            MimeType=x-scheme-handler/\(scheme);
            Exec=\(command.joined(separator: " ")) %u
            \(Self.folderKey)=\(folder)
            \(Self.madeKey)=\(made.joined(separator: ";"))

            """
        // Hidden until it is locked.
        let hidden = "\(Self.applications)/.\(id)"
        let descriptor = open(hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw SchemeHandler.failure("\(Self.applications) cannot be written to") }
        let bytes = Array(text.utf8)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0,
            Foundation.write(descriptor, bytes, bytes.count) == bytes.count,
            rename(hidden, path) == 0
        else {
            unlink(hidden)
            close(descriptor)
            throw SchemeHandler.failure("\(path) cannot be written")
        }
        return descriptor
    }

    /// Calls `body` with each file of a killed program. The file stays locked meanwhile.
    static func forEachAbandoned(_ body: (DesktopEntry) -> Void) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: applications)) ?? []
        for name in names where name.hasPrefix(prefix) && name.hasSuffix(".desktop") {
            let path = "\(applications)/\(name)"
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0,
                let text = try? String(contentsOfFile: path, encoding: .utf8)
            else { continue }
            func value(_ key: String) -> String {
                text.split(separator: "\n").first { $0.hasPrefix("\(key)=") }.map {
                    String($0.dropFirst(key.count + 1))
                }
                    ?? ""
            }
            let number = name.dropFirst(prefix.count).dropLast(".desktop".count)
            body(
                DesktopEntry(
                    number: String(number), folder: value(folderKey),
                    made: value(madeKey).split(separator: ";").map(String.init)))
        }
    }
}
