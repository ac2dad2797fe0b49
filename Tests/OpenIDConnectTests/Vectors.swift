import Foundation

/// Test vectors from outside, which lie beside the repository or where `CREDENTIAL_VAULT_VECTORS` says.
enum Vectors {
    static let folder: URL = {
        if let path = ProcessInfo.processInfo.environment["CREDENTIAL_VAULT_VECTORS"] { return URL(filePath: path) }
        return URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../shared/vectors")
            .standardizedFileURL
    }()

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.appending(path: path).path)
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from path: String) throws -> Value {
        try JSONDecoder().decode(type, from: Data(contentsOf: folder.appending(path: path)))
    }
}
