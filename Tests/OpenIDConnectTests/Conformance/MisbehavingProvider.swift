import Foundation
import HTTPTypes
import TestSupport
import VaultBase
import VaultHTTP

@testable import OpenIDConnect

/// A whole provider on this machine. It signs real tokens and checks requests as a real provider does, except for the
/// alterations of a test. It keeps a log of every request, and knows every secret that it gave out.
final class MisbehavingProvider: Sendable {
    enum Endpoint: String, CaseIterable, Sendable {
        case discovery = "/realm/.well-known/openid-configuration"
        case serverMetadata = "/.well-known/oauth-authorization-server/realm"
        case keys = "/realm/keys"
        case authorization = "/realm/authorize"
        case pushedAuthorization = "/realm/par"
        case token = "/realm/token"
        case userinfo = "/realm/userinfo"
        case device = "/realm/device"
        case registration = "/realm/register"
        case revocation = "/realm/revoke"
        case endSession = "/realm/logout"
        /// Addresses that no client may call: a forger's keys, claims and request objects.
        case trap = "/trap"
        case elsewhere = ""
    }

    /// The features beyond signing in, which the provider announces.
    struct Features: Sendable {
        var pushesRequests = false
        var bindsTokens = false
        /// The nonce that proofs of possession must carry; nil for none.
        var proofNonce: String?
        /// How the scheme is spelled when userinfo asks for such a nonce.
        var proofScheme = "DPoP"
        /// Whether userinfo answers are signed.
        var signsUserinfo = false
        /// Whether registered clients get a secret.
        var givesSecrets = false
        var documents: Set<Endpoint> = [.discovery]
    }

    struct Entry: Sendable {
        let endpoint: Endpoint
        let request: LoopbackServer.Request
        /// Whether the answer was not as it should have been.
        var isAltered = false
        /// The refresh token in the answer.
        var refreshToken: String?

        /// The members of a form, or of the query.
        var parameters: [String: String] {
            let text = request.method == "POST" ? request.body : String(request.target.drop { $0 != "?" }.dropFirst())
            return MisbehavingProvider.parameters(text)
        }
    }

    struct State: Sendable {
        var log: [Entry] = []
        var issued: Set<String> = []
        var alterations = Alterations()
        var features = Features()
        var origin = ""
        var issuer = ""
        var signer: TestKey
        var published: [TestKey]
        var clients: [String: String?] = [MisbehavingProvider.clientID: nil]
        var pushed: [String: [String: String]] = [:]
        var grants: [String: Grant] = [:]
        var proofs: Set<String> = []
        /// The answers to the polls of a device, first to last; an error's name, or nil for tokens.
        var deviceAnswers: [String?] = [nil]
    }

    /// The data behind a code, a device code, a refresh token or an access token.
    struct Grant: Sendable {
        enum Kind: Sendable { case code, device, refresh, access }
        var kind: Kind
        var clientID: String
        var scopes: String
        var nonce: String?
        var redirectURI: String?
        var challenge: String?
        /// The thumbprint of the key that the token is bound to.
        var thumbprint: String?
    }

    static let clientID = "vault-cli"
    static let subject = "alice"

    let clock = ManualWallClock()
    let state: Lock<State>
    private let server: LoopbackServer

    var origin: String { "http://127.0.0.1:\(server.port)" }
    var issuer: String { state.withLock { $0.issuer } }

    init(key: TestKey = .es256()) async throws {
        let mailbox = Mailbox()
        state = Lock(State(signer: key, published: [key]))
        server = try await LoopbackServer { await mailbox.provider?.reply(to: $0) ?? .closed }
        let origin = origin
        state.withLock { ($0.origin, $0.issuer) = (origin, origin + "/realm") }
        mailbox.set(self)
    }

    // MARK: Control by a test

    func alter(_ change: (inout Alterations) -> Void) { state.withLock { change(&$0.alterations) } }

    func offer(_ change: (inout Features) -> Void) { state.withLock { change(&$0.features) } }

    /// Signs with this key from now on, and publishes `keys`. Nil keeps the published keys.
    func sign(with key: TestKey, publishing keys: [TestKey]?) {
        state.withLock { state in
            state.signer = key
            state.published = keys ?? state.published
        }
    }

    /// Uses this issuer from now on.
    func rename(_ issuer: String) { state.withLock { $0.issuer = issuer } }

    /// Knows this client from now on.
    func register(_ clientID: String, secret: String?) { state.withLock { $0.clients[clientID] = .some(secret) } }

    /// The answers to the device's polls, in order: an error's name, or nil for tokens.
    func answerPolls(_ answers: [String?]) { state.withLock { $0.deviceAnswers = answers } }

    /// Ends all access tokens that were given out.
    func endAccessTokens() {
        state.withLock { state in state.grants = state.grants.filter { $0.value.kind != .access } }
    }

    var log: [Entry] { state.withLock { $0.log } }

    func requests(to endpoint: Endpoint) -> [Entry] { log.filter { $0.endpoint == endpoint } }

    /// Whether the text contains a secret that was given out.
    func hasIssued(partOf text: String) -> Bool {
        let text = text.removingPercentEncoding ?? text
        return state.withLock { $0.issued }.contains { text.contains($0) }
    }

    // MARK: Answering

    private func reply(to request: LoopbackServer.Request) async -> LoopbackServer.Reply {
        let endpoint = Endpoint(rawValue: request.path) ?? .elsewhere
        let (index, other) = state.withLock { state in
            state.log.append(Entry(endpoint: endpoint, request: request))
            return (state.log.count - 1, state.alterations.replies[endpoint])
        }
        do {
            let answer = try state.withLock { try $0.answer(index, at: clock.now) }
            guard let other else { return .answer(answer) }
            state.withLock { state in
                state.log[index].isAltered = true
                state.log[index].refreshToken = nil
            }
            return try await other(answer)
        } catch {
            return .answer(.text("the provider itself failed: \(error)", status: 599))
        }
    }

    static func parameters(_ text: String) -> [String: String] {
        Dictionary(FormParameters.decode(text) ?? [], uniquingKeysWith: { one, _ in one + "(twice)" })
    }

    /// The server must not keep its owner, the provider, alive.
    private final class Mailbox: Sendable {
        private let box = Lock(Weak())
        var provider: MisbehavingProvider? { box.withLock { $0.provider } }
        func set(_ provider: MisbehavingProvider) { box.withLock { $0.provider = provider } }
        private struct Weak: Sendable { weak var provider: MisbehavingProvider? }
    }
}
