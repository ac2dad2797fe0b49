import Testing
import VaultHTTP

@testable import OpenIDConnect

/// The promise after every fault: the client reports it, stops, and makes no further call with the data it received.
extension NativeApp {
    /// Runs a call that must fail with `code` because of an altered answer. The provider's log then proves that the
    /// client stopped there.
    ///
    /// After the altered answer, the client may ask for the provider's keys, which it needs to check a signature. It
    /// may send no other request. No request may carry a code, a token or another secret of the provider.
    @discardableResult
    func expectFault(
        _ code: OpenIDConnectError.Code, sourceLocation: SourceLocation = #_sourceLocation,
        in body: () async throws -> Void
    ) async -> OpenIDConnectError? {
        let start = provider.log.count
        let error = await caught(sourceLocation: sourceLocation, body)
        #expect(error?.code == code, "\(error as Any)", sourceLocation: sourceLocation)
        if let error {
            var printed = "\(error)\(String(reflecting: error))"
            dump(error, to: &printed)
            #expect(!provider.hasIssued(partOf: printed), sourceLocation: sourceLocation)
        }
        await proveSilence(since: start, sourceLocation)
        return error
    }

    /// A sign-in whose ID token is altered must fail.
    @discardableResult
    func expectRefusal(
        sourceLocation: SourceLocation = #_sourceLocation,
        of change: @escaping @Sendable (inout IDTokenDraft) throws -> Void
    ) async -> OpenIDConnectError? {
        provider.alter { $0.idToken = change }
        let error = await expectFault(.tokenInvalid, sourceLocation: sourceLocation) { _ = try await signIn() }
        #expect(error?.mayHaveBeenProcessed == true, sourceLocation: sourceLocation)
        return error
    }

    /// A sign-in whose ID token is altered must succeed all the same.
    func expectAcceptance(
        sourceLocation: SourceLocation = #_sourceLocation,
        of change: @escaping @Sendable (inout IDTokenDraft) throws -> Void
    ) async throws {
        provider.alter { $0.idToken = change }
        let tokens = try await signIn()
        #expect(tokens.idToken?.subject == MisbehavingProvider.subject, sourceLocation: sourceLocation)
    }

    /// A refresh must fail because `change` alters its answer. If the answer has a refresh token, the client must keep
    /// it, because the old one may be used up. A token that `belongsToAnother` person must not be kept.
    @discardableResult
    func expectRefreshFault(
        _ code: OpenIDConnectError.Code, belongsToAnother: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation, altering change: (inout Alterations) -> Void
    ) async throws -> OpenIDConnectError? {
        let refreshToken = try await signIn().refreshToken
        provider.alter(change)
        var kept: [String?] = []
        let error = await expectFault(code, sourceLocation: sourceLocation) {
            _ = try await refresh(refreshToken, kept: &kept)
        }
        let given = belongsToAnother ? nil : provider.requests(to: .token).last?.refreshToken
        #expect(kept.compactMap(\.self) == [given].compactMap(\.self), sourceLocation: sourceLocation)
        #expect(kept.count <= 1, sourceLocation: sourceLocation)
        return error
    }

    private func proveSilence(since start: Int, _ sourceLocation: SourceLocation) async {
        // All requests that the client sent have arrived before this.
        _ = try? await visit(provider.origin + "/fence")
        let log = provider.log.dropFirst(start)
        guard let index = log.firstIndex(where: \.isAltered) else {
            Issue.record("the provider did nothing wrong", sourceLocation: sourceLocation)
            return
        }
        let mayFetchKeys = [.token, .userinfo, .keys].contains(log[index].endpoint)
        for entry in log[(index + 1)...] where entry.request.target != "/fence" {
            let request = entry.request
            let isBare =
                request.method == "GET" && request.target == request.path && request.body.isEmpty
                && request.field("Authorization") == nil && request.field("DPoP") == nil
            #expect(
                mayFetchKeys && entry.endpoint == .keys && isBare,
                "\(request.method) \(request.target) came after the fault", sourceLocation: sourceLocation)
            let everything = "\(request.target)\(request.headerFields)\(request.body)"
            #expect(!provider.hasIssued(partOf: everything), sourceLocation: sourceLocation)
        }
    }
}
