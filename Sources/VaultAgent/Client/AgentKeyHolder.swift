internal import Foundation
internal import VaultAgentProtocol
internal import VaultCrypto
internal import VaultStorage

struct AgentKeyHolder: VaultKeyHolder {
    let client: AgentClient
    let id: AccountID

    func seal(_ content: [UInt8], as name: ItemName, of id: AccountID) async throws -> [UInt8] {
        try await data(.seal(AgentAccount(id), item: name.rawValue, content))
    }

    func open(_ sealed: [UInt8], as name: ItemName, of id: AccountID) async throws -> [UInt8] {
        do {
            return try await data(.open(AgentAccount(id), item: name.rawValue, sealed))
        } catch let error as VaultError where error.code == .storeCorrupt {
            throw StoreError(.corrupt, error.description)
        }
    }

    func streamKey(of name: ItemName) async throws -> SharedSecret {
        var key = try await data(.streamKey(AgentAccount(id), item: name.rawValue))
        defer { AgentConnection.wipe(&key) }
        return SharedSecret(try SecretBytes(copying: key))
    }

    func data(_ request: AgentRequest) async throws -> [UInt8] {
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
