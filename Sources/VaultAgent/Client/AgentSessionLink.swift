internal import Dispatch
internal import Foundation
package import OpenIDConnect
internal import VaultAgentProtocol
package import VaultAuth
package import VaultCrypto
package import VaultStorage

/// A session's connection to the agent, which holds its tokens and its vault key.
package struct AgentSessionLink: AgentLink, VaultKeyHolder {
    let client: AgentClient
    package let id: AccountID
    let watch: AgentWatch

    init(client: AgentClient, id: AccountID) {
        self.client = client
        self.id = id
        watch = AgentWatch(client: client, account: AgentAccount(id))
    }

    private var account: AgentAccount { AgentAccount(id) }

    // MARK: - Tokens

    package func accessToken(
        _ request: RefreshTransaction.Request
    ) async throws -> (token: AccessToken, isNew: Bool) {
        let wish = AgentTokenWish(
            isForced: request.force,
            minimumSeconds: UInt32(clamping: request.minimumValidity.components.seconds), rejected: request.rejected,
            at: request.at.timeIntervalSince1970)
        guard case .token(let token) = try await client.ask(.token(account, wish)) else {
            throw AgentClient.unexpected
        }
        return (AccessToken(token), token.isNew)
    }

    package func proofKey() async throws -> DPoPKey? {
        let key = try await data(.proofKey(account))
        return key.isEmpty ? nil : try DPoPKey(rawRepresentation: key)
    }

    package func logOutEverywhere() async throws -> VaultError? {
        guard case .loggedOut(let failure) = try await client.ask(.logOutEverywhere(account)) else {
            throw AgentClient.unexpected
        }
        return failure.map(VaultError.init)
    }

    package func logoutURL(redirectURI: String?, state: String?) async throws -> String {
        let request = AgentRequest.logoutURL(account, redirectURI: redirectURI, state: state)
        guard case .text(let address) = try await client.ask(request) else { throw AgentClient.unexpected }
        return address
    }

    package func updates() -> AsyncStream<SessionUpdate> { watch.updates() }

    package func leave(locking isLocking: Bool) async {
        watch.end()
        guard isLocking else { return }
        // Even if the task that locks was cancelled.
        let (client, account) = (client, account)
        await Task.detached { _ = try? await client.ask(.lock(account, isFinal: false), timeout: 10) }.value
    }

    // MARK: - The vault key

    package func seal(_ content: [UInt8], as name: ItemName, of id: AccountID) async throws -> [UInt8] {
        try await data(.seal(AgentAccount(id), item: name.rawValue, content))
    }

    package func open(_ sealed: [UInt8], as name: ItemName, of id: AccountID) async throws -> [UInt8] {
        do {
            return try await data(.open(AgentAccount(id), item: name.rawValue, sealed))
        } catch let error as VaultError where error.code == .storeCorrupt {
            throw StoreError(.corrupt, error.description)
        }
    }

    package func streamKey(of name: ItemName) async throws -> SharedSecret {
        var key = try await data(.streamKey(account, item: name.rawValue))
        defer { AgentConnection.wipe(&key) }
        return SharedSecret(try SecretBytes(copying: key))
    }

    package func check(_ kind: Keyslot.Kind, _ secret: SharedSecret) async throws -> [UInt8] {
        try await data(.check(account, kind: kind.rawValue, secret.bytes.withUnsafeBytes { Array($0) }))
    }

    package func setPIN(_ pin: borrowing SecretBytes, ticket: [UInt8]) async throws {
        _ = try await client.ask(.setPIN(account, pin.withUnsafeBytes { Array($0) }, ticket: ticket))
    }

    private func data(_ request: AgentRequest) async throws -> [UInt8] {
        guard case .data(let bytes) = try await client.ask(request) else { throw AgentClient.unexpected }
        return bytes
    }
}

extension AccessToken {
    init(_ token: AgentToken) {
        self.init(
            value: token.value, tokenType: token.tokenType,
            expiresAt: token.expiresAt.map { Date(timeIntervalSince1970: $0) }, scope: token.scope,
            obtainedAt: Date(timeIntervalSince1970: token.obtainedAt))
    }
}

extension AgentToken {
    init(_ token: AccessToken, isNew: Bool) {
        self.init(
            value: token.value, tokenType: token.tokenType, expiresAt: token.expiresAt?.timeIntervalSince1970,
            scope: token.scope, obtainedAt: token.obtainedAt.timeIntervalSince1970, isNew: isNew)
    }
}
