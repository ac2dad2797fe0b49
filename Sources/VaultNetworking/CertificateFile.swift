public import FoundationEssentials
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
    ].lazy.compactMap { attributes(of: $0)?[.size] as? Int }.first

    /// Whether this machine has that file. Without it, a folder with a few certificates still works for some hosts.
    static var systemHasFile: Bool { systemFileSize ?? 0 > 0 }

    /// Whether this machine has certificates of public authorities. Without them, SwiftNIO SSL makes no connection,
    /// even if another authority is trusted. The package openssl leaves an empty folder.
    static let systemHasAuthorities =
        systemFileSize.map { $0 > 0 }
        ?? (try? FileManager.default.contentsOfDirectory(atPath: "/etc/ssl/certs"))?.isEmpty == false

    /// The error of a machine without any, about a call to a server.
    static func noAuthorities(for authority: String) -> HTTPError {
        let failure = Failure(
            description:
                "This machine does not have the certificates of public authorities (/etc/ssl/certs/ca-certificates.crt). Install the package ca-certificates. For a private authority, set ca-file."
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
        guard let attributes = Self.attributes(of: path) else {
            throw failure("cannot be found, or this user may not look into its folder")
        }
        // A pipe or a device could block for ever.
        guard attributes[.type] as? FileAttributeType == .typeRegular else { throw failure("is not a regular file") }
        guard (attributes[.size] as? Int ?? 0) <= Self.largest else { throw failure("is larger than 4 MiB") }
        guard let data = FileManager.default.contents(atPath: path) else { throw failure("cannot be read") }
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(Array(data)), !certificates.isEmpty else {
            throw failure("holds no certificate in PEM")
        }
        return certificates
    }

    private static func attributes(of path: String) -> [FileAttributeKey: Any]? {
        try? FileManager.default.attributesOfItem(atPath: URL(filePath: path).resolvingSymlinksInPath().path)
    }

    private func failure(_ reason: String) -> Failure {
        Failure(
            description: "The file of certificates \(path) \(reason). Correct the file or its path."
                + (removal.isEmpty ? "" : " To continue without it: \(removal)"))
    }
}
