internal import CredentialVault
internal import Foundation

/// The place of an organisation's settings: a file, or a file on a web server. The signature is beside it.
struct SettingsSource {
    /// The path or the URL.
    let place: String
    let transport: any HTTPTransport

    /// The largest accepted files, in bytes.
    private static let greatestSize = 65_536
    private static let greatestSignature = 4096

    /// - Throws: `VaultError` with code `configurationInvalid`, which says which file cannot be read.
    func read() async throws -> (content: [UInt8], signature: [UInt8]) {
        let signature = place + ".minisig"
        guard place.contains("://") else {
            return (try file(place, Self.greatestSize), try file(signature, Self.greatestSignature))
        }
        return try await Spinner.during("Fetching the settings") {
            (try await fetched(place, Self.greatestSize), try await fetched(signature, Self.greatestSignature))
        }
    }

    private func file(_ path: String, _ limit: Int) throws -> [UInt8] {
        // O_NONBLOCK: opening a pipe would wait, and the program could not refuse it.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure(path, "It does not exist, or you may not read it.") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let data = try? FileHandle(fileDescriptor: descriptor).read(upToCount: limit + 1) ?? Data()
        else { throw failure(path, "It is not a regular file.") }
        guard data.count <= limit else { throw failure(path, "It is larger than \(limit / 1024) KiB.") }
        return Array(data)
    }

    private func fetched(_ url: String, _ limit: Int) async throws -> [UInt8] {
        guard let slash = url.lastIndex(of: "/"), !url[..<slash].hasSuffix(":/"), !url.hasSuffix("/"),
            !url.contains(where: { "?#".contains($0) })
        else { throw failure(url, "The URL has to name a file, without a query.") }
        do {
            var client = try JSONClient(baseURL: String(url[...slash]), over: transport)
            client.limits.bodyBytes = limit
            return try await client.bytes(String(url[slash...].dropFirst()))
        } catch {
            if (error as? HTTPError)?.code == .cancelled { throw CancellationError() }
            throw failure(url, error.localizedDescription, error)
        }
    }

    private func failure(_ name: String, _ reason: String, _ cause: (any Error)? = nil) -> VaultError {
        VaultError(
            .configurationInvalid, "The file \(Printable.text(name)) cannot be read. \(reason)", underlying: cause)
    }
}
