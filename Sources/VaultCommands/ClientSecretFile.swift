internal import CredentialVault
internal import Foundation

/// The file with a client's secret: a regular file that belongs to this user and that nobody else may read.
struct ClientSecretFile {
    let path: String

    /// The longest file that is read, in bytes.
    private static let limit = 4096

    /// Reads the secret. One newline at the end is not part of it.
    ///
    /// - Throws: `VaultError` with code `configurationInvalid`, with a command that solves the problem.
    func read() throws -> SharedSecret {
        let quoted = ShellQuoting.quoted(path)
        // O_NONBLOCK: opening a pipe would wait, and the program could not refuse it.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw errno == ENOENT
                ? failure("does not exist", "To make it, run this and paste the secret: (umask 077 && cat > \(quoted))")
                : failure("cannot be opened", "To see who may read it: ls -l \(quoted)")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw failure("cannot be read", "To see what it is: ls -l \(quoted)")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw failure(
                "is not a regular file",
                "To make a file for the secret, run this and paste the secret: (umask 077 && cat > client-secret). Then: vault config set client-secret-file client-secret"
            )
        }
        guard status.st_uid == geteuid() else {
            throw failure(
                "belongs to another user", "To make a copy of your own: install -m 600 \(quoted) client-secret")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw failure("can be read or changed by other users", "To prevent that: chmod 600 \(quoted)")
        }
        guard status.st_size <= Self.limit else {
            throw failure(
                "is larger than 4 KiB",
                "To write only the secret, run this and paste it: (umask 077 && cat > \(quoted))")
        }
        guard let secret = try SecretReader.all(from: descriptor)?.take(), secret.count > 0 else {
            throw failure("is empty", "To fill it, run this and paste the secret: (umask 077 && cat > \(quoted))")
        }
        // Google offers such a file for download.
        let isJSON = secret.withUnsafeBytes { $0.first == UInt8(ascii: "{") && $0.last == UInt8(ascii: "}") }
        guard !isJSON else {
            throw failure(
                "is JSON, and not the secret alone",
                "Write only the value of client_secret into a file: (umask 077 && jq -r '.installed.client_secret' \(quoted) > client-secret)"
            )
        }
        return SharedSecret(secret)
    }

    private func failure(_ what: String, _ next: String) -> VaultError {
        VaultError(.configurationInvalid, "The client secret file \(Printable.text(path)) \(what). \(next)")
    }
}
