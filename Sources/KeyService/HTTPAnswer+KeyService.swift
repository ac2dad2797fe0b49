internal import Foundation
internal import HTTPTypes
internal import KeyServiceAPI
internal import VaultHTTP

extension HTTPAnswer {
    /// What a key service says in the body of a refusal.
    var problem: KeyServiceProblem? { try? JSONDecoder().decode(KeyServiceProblem.self, from: Data(body)) }

    /// Our own server's word for a base path that it does not serve.
    var isAboutPath: Bool { problem?.error == "no_such_path" }

    /// A proxy's own page is no word of the key service about a key.
    var isJSON: Bool {
        headerFields[.contentType]?.lowercased().hasPrefix("application/json") ?? body.isEmpty
    }

    /// Whether it is a page for people.
    var isPage: Bool {
        !body.isEmpty && headerFields[.contentType]?.lowercased().contains("html") == true
    }
}
