public import FoundationEssentials
internal import Glibc
internal import NIOSSL
internal import VaultHTTP

/// A PEM file with the certificates of a private certificate authority. They are trusted besides the system's, or in
/// place of them at one host: see ``AsyncHTTPTransport/init(certificateFile:hostCertificateFiles:)``.
///
/// The file is read at the first connection, so a wrong path does not stop work without a network.
public struct CertificateFile: Sendable, Hashable {
    /// The path of the file.
    public let path: String
    /// The command that removes the setting; empty if unknown.
    public let removal: String

    /// Names a file, without reading it.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - removal: the command that removes the setting, for the error about an unusable file.
    public init(path: String, removal: String = "") {
        self.path = path
        self.removal = removal
    }

    /// The error for a file that is missing, not readable, or without a certificate.
    public struct Failure: LocalizedError, Sendable, CustomStringConvertible {
        /// The fault in the file, and the next step.
        public let description: String

        /// The same text as ``description``, for `localizedDescription`.
        public var errorDescription: String? { description }
    }

    /// The size of the file with the certificates of public authorities; nil if this machine has no such file. Like
    /// SwiftNIO SSL, this looks only once, and at the same places.
    private static let systemFileSize = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    ].lazy.compactMap { status(of: $0)?.st_size }.first

    /// Whether this machine has that file. Without it, a folder with a few certificates still works for some hosts.
    static var systemHasFile: Bool { systemFileSize ?? 0 > 0 }

    /// Whether this machine has certificates of public authorities. Without them, SwiftNIO SSL makes no connection. So
    /// an own authority has to replace these, not be added to them. The package openssl leaves an empty folder.
    static let systemHasAuthorities =
        systemFileSize.map { $0 > 0 }
        ?? ((try? FileManager.default.contentsOfDirectory(atPath: "/etc/ssl/certs"))?.isEmpty == false)

    /// The error of a machine without any, about a call to a server.
    static func noAuthorities(for authority: String) -> HTTPError {
        let failure = Failure(
            description:
                "The certificate of the server cannot be checked, because this machine does not have the certificates of public authorities (/etc/ssl/certs/ca-certificates.crt). Install the package ca-certificates. For a private authority, name the file with its certificates."
        )
        return HTTPError(.certificateFileInvalid, authority: authority, underlying: failure)
    }

    /// Checks that the file can be read and has certificates.
    ///
    /// - Throws: ``Failure``.
    public func check() throws { _ = try certificates() }

    /// The largest accepted size, in bytes: more than all public authorities need.
    private static let largest = 4 << 20

    func certificates() throws -> [NIOSSLCertificate] {
        guard let status = Self.status(of: path) else {
            throw failure("cannot be found, or this user may not look into its folder")
        }
        // A pipe or a device could block for ever.
        guard status.st_mode & S_IFMT == S_IFREG else { throw failure("is not a regular file") }
        guard status.st_size <= Self.largest else { throw failure("is larger than 4 MiB") }
        guard let data = FileManager.default.contents(atPath: path) else { throw failure("cannot be read") }
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(Array(data)), !certificates.isEmpty else {
            throw failure("holds no certificate in PEM")
        }
        return certificates
    }

    /// Returns what stat(2) says; nil without such a file. The attributes of Foundation have another type in programs
    /// that do not load all of it.
    private static func status(of path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    private func failure(_ reason: String) -> Failure {
        Failure(
            description: "The file of certificates \(path) \(reason). Correct the file or its path."
                + (removal.isEmpty ? "" : " To continue without it: \(removal)"))
    }
}
