import Foundation
import Testing

@testable import KeyServiceCore
@testable import KeyServiceServer

@Suite struct CertificateTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var files: TLSFiles {
        TLSFiles(certificate: folder.path + "/server.pem", key: folder.path + "/server.key")
    }

    /// Writes a new self-signed certificate and its key, as a renewing program does.
    private func renew(days: Int = 2) throws {
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        openssl.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=test",
            "-days", "\(days)", "-keyout", files.key, "-out", files.certificate,
        ]
        openssl.standardError = FileHandle.nullDevice
        try openssl.run()
        openssl.waitUntilExit()
        try #require(openssl.terminationStatus == 0)
        try setMode(0o600, files.key)
    }

    @Test func `when certificate files change, then they are read once`() throws {
        try renew()
        let certificate = try ServerCertificate(files, metrics: KeyServiceMetrics())
        let first = certificate.context
        #expect(try !certificate.reloadIfChanged())
        try renew()
        #expect(try certificate.reloadIfChanged())
        let second = certificate.context
        #expect(second !== first)
        #expect(try !certificate.reloadIfChanged())
        #expect(certificate.context === second)
        // A bad certificate is refused once, not at every look.
        try Data("nothing".utf8).write(to: URL(fileURLWithPath: files.certificate))
        #expect(throws: KeyServiceServerError.self) { try certificate.reloadIfChanged() }
        #expect(try !certificate.reloadIfChanged())
        #expect(certificate.context === second)
    }

    @Test func `when a link points elsewhere, then the certificate is reloaded`() throws {
        try renew()
        let old = folder.path + "/old.pem"
        try FileManager.default.moveItem(atPath: files.certificate, toPath: old)
        try FileManager.default.createSymbolicLink(atPath: files.certificate, withDestinationPath: old)
        let certificate = try ServerCertificate(files, metrics: KeyServiceMetrics())
        let new = folder.path + "/new.pem"
        try FileManager.default.copyItem(atPath: old, toPath: new)
        try FileManager.default.removeItem(atPath: files.certificate)
        try FileManager.default.createSymbolicLink(atPath: files.certificate, withDestinationPath: new)
        #expect(try certificate.reloadIfChanged())
    }

    @Test(.timeLimit(.minutes(1)))
    func `when certificate files change, then the watch rereads them`() async throws {
        try renew()
        let log = LogCapture()
        let certificate = try ServerCertificate(files, metrics: KeyServiceMetrics())
        let first = certificate.context
        let watch = CertificateWatch(certificate: certificate, logger: log.makeLogger(), interval: .milliseconds(1))
        let watching = Task { try await watch.run() }
        try renew()
        // The time limit cancels the test.
        while !Task.isCancelled, !log.text.contains("The certificate was read again") { await Task.yield() }
        #expect(certificate.context !== first)
        watching.cancel()
        try? await watching.value
    }
}
