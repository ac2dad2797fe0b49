import Foundation

/// Test vectors from outside, in `Tests/Vectors`.
enum Vectors {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Vectors")
        .standardizedFileURL

    static func decode<Value: Decodable>(_ type: Value.Type, from path: String) throws -> Value {
        try JSONDecoder().decode(type, from: Data(contentsOf: folder.appending(path: path)))
    }
}
