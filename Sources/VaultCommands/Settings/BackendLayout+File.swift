internal import CredentialVault
internal import Foundation

extension BackendLayout {
    /// Reads a layout. The file has only the differences from the usual layout.
    ///
    /// - Throws: `VaultError` with code `configurationInvalid`, which says what is wrong with the file.
    init(file path: String) throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw VaultError(.configurationInvalid, "The backend file \(path) cannot be read.")
        }
        do {
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch {
            let reason =
                switch error as? DecodingError {
                case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context),
                    .keyNotFound(_, let context):
                    (context.codingPath.isEmpty
                        ? "" : context.codingPath.map(\.stringValue).joined(separator: ".") + ": ")
                        + context.debugDescription
                default: "it is not JSON."
                }
            throw VaultError(.configurationInvalid, "The backend file \(path) cannot be used: \(reason)")
        }
    }
}
