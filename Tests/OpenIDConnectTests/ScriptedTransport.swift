import HTTPTypes
import VaultBase
import VaultHTTP

/// Answers requests by a script, and remembers them.
final class ScriptedTransport: HTTPTransport {
    struct Request: Sendable {
        let method: HTTPRequest.Method
        let url: String
        let headerFields: HTTPFields
        let body: String
    }

    private let log = Lock<[Request]>([])
    private let script: @Sendable (Request) async throws -> HTTPAnswer

    init(_ script: @escaping @Sendable (Request) async throws -> HTTPAnswer) {
        self.script = script
    }

    var requests: [Request] { log.withLock { $0 } }

    func count(of url: String) -> Int { requests.count { $0.url == url } }

    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
        let request = Request(
            method: request.method,
            url: "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")",
            headerFields: request.headerFields, body: String(decoding: body, as: UTF8.self))
        log.withLock { $0.append(request) }
        return try await script(request)
    }
}

extension HTTPAnswer {
    static func text(_ body: String, status: Int = 200) -> HTTPAnswer {
        HTTPAnswer(status: .init(code: status), body: Array(body.utf8))
    }
}
