internal import Foundation
internal import HTTPTypes
internal import KeyServiceAPI
internal import VaultHTTP

extension HTTPAnswer {
    /// The body of a key service's refusal.
    var problem: KeyServiceProblem? { try? JSONDecoder().decode(KeyServiceProblem.self, from: Data(body)) }

    /// Whether our own server says that it does not serve this base path.
    var isAboutPath: Bool { problem?.error == "no_such_path" }

    /// Whether the body is JSON. A proxy's own page says nothing about a key.
    var isJSON: Bool {
        headerFields[.contentType]?.lowercased().hasPrefix("application/json") ?? body.isEmpty
    }

    /// Whether the body is a page for people.
    var isPage: Bool {
        !body.isEmpty && headerFields[.contentType]?.lowercased().contains("html") == true
    }
}
