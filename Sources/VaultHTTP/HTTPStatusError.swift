public import FoundationEssentials
internal import HTTPTypes

/// A server's refusal: an answer with an error status or GraphQL errors.
public struct HTTPStatusError: LocalizedError, Sendable, CustomStringConvertible {
    /// The HTTP status.
    public let status: Int
    /// The server's words: at most 200 characters, without control characters; nil if there are none.
    public let message: String?

    public var description: String {
        message.map { "The server refused the request (HTTP \(status)): \($0)" }
            ?? "The server refused the request (HTTP \(status))."
    }

    /// The same text as ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}

extension HTTPAnswer {
    /// Returns the answer, if it is not an error.
    ///
    /// - Throws: ``HTTPStatusError`` for a status of 400 or more, and for a GraphQL answer with errors and no data
    ///   (status 200). Its message is the body's `error_description`, `message`, `error` (a text, or an object with a
    ///   `message`), or the first of its `errors`.
    public func requireSuccess() throws -> HTTPAnswer {
        if status.code >= 400 { throw HTTPStatusError(status: status.code, message: errorMembers?.message) }
        if let errors = errorMembers?.errors, !errors.isEmpty, errorMembers?.hasData == false {
            throw HTTPStatusError(status: status.code, message: errorMembers?.message)
        }
        return self
    }

    /// Whether the server refused the credentials: status 401, or a GraphQL answer without data and with the error code
    /// `UNAUTHENTICATED`.
    package var isUnauthenticated: Bool {
        if status.code == 401 { return true }
        guard status.code == 200, let members = errorMembers, members.hasData == false else { return false }
        return members.errors?.contains { $0.extensions?.code == "UNAUTHENTICATED" } == true
    }

    private var errorMembers: ErrorMembers? {
        guard headerFields[.contentType]?.lowercased().contains("json") == true else { return nil }
        return try? JSONDecoder().decode(ErrorMembers.self, from: Data(body))
    }
}

/// The common members of error answers. A member of an unexpected kind is left out.
private struct ErrorMembers: Decodable {
    struct Item: Decodable {
        struct Extensions: Decodable {
            let code: String?
            init(from decoder: any Decoder) throws {
                code = try? decoder.container(keyedBy: Key.self).decode(String.self, forKey: "code")
            }
        }

        let message: String?
        let extensions: Extensions?

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Key.self)
            message = try? members.decode(String.self, forKey: "message")
            extensions = try? members.decode(Extensions.self, forKey: "extensions")
        }
    }

    let errors: [Item]?
    let hasData: Bool
    let message: String?

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        errors = try? members.decode([Item].self, forKey: "errors")
        hasData = members.contains("data") && (try? members.decodeNil(forKey: "data")) == false
        let text =
            (try? members.decode(String.self, forKey: "error_description"))
            // Beside a text for a person, `error` is a code.
            ?? (try? members.decode(String.self, forKey: "message"))
            ?? (try? members.decode(String.self, forKey: "error"))
            ?? (try? members.decode(Item.self, forKey: "error"))?.message ?? errors?.first?.message
        message = text?.harmlessText
    }

    struct Key: CodingKey, ExpressibleByStringLiteral {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init(stringLiteral value: String) { stringValue = value }
        init?(intValue: Int) { nil }
    }
}

extension String {
    /// A server's text in a form that a person may see: at most 200 characters, and none that move a terminal's cursor
    /// or turn its writing direction. Nil if no character is left.
    package var harmlessText: String? {
        let kept = unicodeScalars.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
        return kept.isEmpty ? nil : String(UnicodeScalarView(kept.prefix(200)))
    }
}
