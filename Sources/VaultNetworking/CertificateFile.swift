public import FoundationEssentials
internal import NIOSSL

/// A file with the certificates of a private certificate authority, in PEM. They count besides the system's own.
///
/// The file is read at the first connection, so that a wrong path does not stop what needs no network.
public struct CertificateFile: Sendable, Hashable {
    /// Where the file is.
    public let path: String
    /// How the person goes on without the file; empty when that is not known.
    public let removal: String

    /// Names a file. It is not read yet.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - removal: a command that takes the setting away, for the error when the file cannot be used.
    public init(path: String, removal: String = "") {
        self.path = path
        self.removal = removal
    }

    /// The file is missing, not readable, or holds no certificate.
    public struct Failure: LocalizedError, Sendable, CustomStringConvertible {
        /// What is wrong with which file, and what to do.
        public let description: String

        /// For `localizedDescription`: the same as ``description``.
        public var errorDescription: String? { description }
    }

    /// Reads the file, and throws away what it read.
    ///
    /// - Throws: ``Failure``.
    public func check() throws { _ = try certificates() }

    /// More than the certificates of all authorities there are.
    private static let largest = 4 << 20

    func certificates() throws -> [NIOSSLCertificate] {
        let attributes = try? FileManager.default.attributesOfItem(
            atPath: URL(filePath: path).resolvingSymlinksInPath().path)
        guard let attributes else { throw failure("cannot be found, or lies where this user may not look") }
        // Reading a pipe or a device could take for ever.
        guard attributes[.type] as? FileAttributeType == .typeRegular else { throw failure("is no regular file") }
        guard (attributes[.size] as? Int ?? 0) <= Self.largest else { throw failure("is larger than 4 MiB") }
        guard let data = FileManager.default.contents(atPath: path) else { throw failure("cannot be read") }
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(Array(data)), !certificates.isEmpty else {
            throw failure("holds no certificate in PEM")
        }
        return certificates
    }

    private func failure(_ reason: String) -> Failure {
        Failure(
            description: "The file of certificates \(path) \(reason). Correct the file or its path."
                + (removal.isEmpty ? "" : " To go on without it: \(removal)"))
    }
}
