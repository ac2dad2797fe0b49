internal import Foundation
internal import HTTPTypes
internal import KeyServiceAPI
internal import VaultBase
public import VaultHTTP

/// The lists of devices over HTTP, protocol version 2.
public struct HTTPDeviceListService: DeviceListService {
    private let endpoint: KeyServiceEndpoint

    /// - Parameters:
    ///   - baseURL: the URL before `/keyservice/v2/…`, possibly with a path such as `/auth/realms/demo`. It is
    ///     `https:`, or `http:` to this machine.
    ///   - transport: carries the calls.
    ///   - limits: the time limits of a call.
    /// - Throws: ``KeyServiceError`` with code `invalidURL`.
    public init(baseURL: String, transport: any HTTPTransport, limits: HTTPLimits = HTTPLimits()) throws {
        endpoint = try KeyServiceEndpoint(baseURL: baseURL, transport: transport, limits: limits)
    }

    package init(_ endpoint: KeyServiceEndpoint) { self.endpoint = endpoint }

    /// Asks with `GET`. Any answer that does not say yes means no.
    ///
    /// - Throws: ``KeyServiceError``: `unavailable`, `busy`: try again. `invalidURL`, `configurationInvalid`: correct
    ///   the setting that the text names. `CancellationError` when the task is cancelled.
    public func keepsLists() async throws -> Bool { try await versions()?.devices ?? false }

    /// Asks with `GET`. An answer of anybody else must not look like a service that keeps unclaimed keys.
    ///
    /// - Throws: ``KeyServiceError`` as ``keepsLists()``; also `unavailable` for an answer without versions.
    public func claimTime() async throws -> Duration? {
        guard let versions = try await versions() else {
            throw KeyServiceError(
                .unavailable, "The key service at \(endpoint.authority) does not say whether it ends unclaimed keys.")
        }
        guard versions.devices == true else { return nil }
        return versions.claimWithin.map { .seconds($0) }
    }

    /// Asks with `GET`. Any answer that does not say yes means no.
    ///
    /// - Throws: ``KeyServiceError`` as ``keepsLists()``.
    public func allowsOwnerUnlock() async throws -> Bool { try await versions()?.ownerUnlock ?? false }

    private func versions() async throws -> ProtocolVersions? {
        let answer = try await endpoint.send(OPRFPath.base)
        if [429, 502, 503, 504].contains(answer.status.code) { throw endpoint.busy }
        return answer.status == .ok ? answer.decoded() : nil
    }

    /// Lists the keys with `POST devices`.
    ///
    /// - Throws: ``KeyServiceError``: `invalidToken`: use a new token, or another provider. `noDeviceLists`: the
    ///   service keeps no lists. `unavailable`, `busy`: try again. `invalidAnswer`: check the URL of the service.
    ///   `invalidURL`, `configurationInvalid`: correct the setting that the text names. `CancellationError` when the
    ///   task is cancelled.
    public func listedKeys(accessToken: OwnerToken) async throws -> [ListedKey] {
        let answer = try await post(OPRFPath.devices, NoMembers(), accessToken)
        // An id becomes a part of a path.
        guard let list: DeviceList = answer.decoded(), list.devices.allSatisfy({ Self.isID($0.id) }) else {
            throw endpoint.breaksProtocol
        }
        return list.devices.map {
            ListedKey(
                id: $0.id, label: $0.label?.bytes, createdAt: Self.date($0.createdAt),
                lastUsedAt: $0.lastUsedAt.map(Self.date), isLocked: $0.locked)
        }
    }

    /// Claims a key with `POST claim`.
    ///
    /// - Throws: ``KeyServiceError`` as ``listedKeys(accessToken:)``. Also `noSuchKey`: the key is unknown, or has
    ///   another end key. `ownedByAnother`: the key is on the list of another person. `keyEnded`, `keyRevoked`,
    ///   `keyDestroyed`: the key opens nothing any more. `unfinished`: claim it later.
    public func claimKey(id: String, signature: [UInt8], accessToken: OwnerToken) async throws {
        _ = try await post(OPRFPath.key(id, .claim), ClaimRequest(signature: signature), accessToken)
    }

    /// Gives a key another label with `POST rename`.
    ///
    /// - Throws: ``KeyServiceError`` as ``listedKeys(accessToken:)``. Also `noSuchDevice`: read the list again.
    public func renameKey(id: String, label: [UInt8], accessToken: OwnerToken) async throws {
        _ = try await post(OPRFPath.device(id, .rename), RenameRequest(label: label), accessToken)
    }

    /// Ends a key with `POST revoke`.
    ///
    /// - Throws: ``KeyServiceError`` as ``listedKeys(accessToken:)``. Also `noSuchDevice`: the key is gone already, or
    ///   is another person's.
    public func revokeKey(id: String, accessToken: OwnerToken) async throws {
        _ = try await post(OPRFPath.device(id, .revoke), NoMembers(), accessToken)
    }

    /// Unlocks a key with `POST unlock`.
    ///
    /// - Throws: ``KeyServiceError`` as ``listedKeys(accessToken:)``. Also `noSuchDevice`: read the list again.
    ///   `signInTooOld`: let the person sign in again. `unlockedToday`: try again 24 hours after that unlock. `keyLocked`:
    ///   only the operator can unlock the key.
    public func unlockKey(id: String, accessToken: OwnerToken) async throws {
        _ = try await post(OPRFPath.device(id, .unlock), NoMembers(), accessToken)
    }

    // MARK: - The parts

    private struct NoMembers: Encodable {}

    private func post(_ path: String, _ body: some Encodable, _ accessToken: OwnerToken) async throws -> HTTPAnswer {
        // A line break would begin another header field.
        guard accessToken.value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw endpoint.invalidToken }
        let content = try Array(JSONEncoder().encode(body))
        var answer = try await send(path, content, accessToken, nonce: nil)
        // The service did not carry out the first request (RFC 9449 section 9).
        if let nonce = Self.wantedNonce(in: answer) {
            answer = try await send(path, content, accessToken, nonce: nonce)
        }
        guard answer.status == .ok, answer.isJSON else { throw endpoint.refusal(answer, ofOwner: true) }
        return answer
    }

    private func send(
        _ path: String, _ content: [UInt8], _ accessToken: OwnerToken, nonce: String?
    ) async throws -> HTTPAnswer {
        guard let proof = accessToken.proof, let proofField = Self.proofField else {
            return try await endpoint.send(
                path, body: content, fields: [.authorization: "Bearer \(accessToken.value)"])
        }
        var fields: HTTPFields = [.authorization: "DPoP \(accessToken.value)"]
        do {
            fields[proofField] = try proof("POST", endpoint.url(of: path), nonce)
        } catch {
            throw KeyServiceError(
                .configurationInvalid, "No proof for the access token could be made.", underlying: error)
        }
        return try await endpoint.send(path, body: content, fields: fields)
    }

    private static let proofField = HTTPField.Name("DPoP")

    /// Returns the nonce that a service wants in the proof; nil if it refused for another reason.
    private static func wantedNonce(in answer: HTTPAnswer) -> String? {
        guard answer.status == .unauthorized,
            answer.headerFields[values: .wwwAuthenticate].contains(where: { $0.contains("use_dpop_nonce") }),
            let nonce = HTTPField.Name("DPoP-Nonce").flatMap({ answer.headerFields[$0] }),
            (1...1024).contains(nonce.utf8.count), nonce.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return nonce
    }

    private static func isID(_ text: String) -> Bool { UUID(uuidString: text)?.uuidString.lowercased() == text }

    private static func date(_ seconds: Int64) -> Date { Date(timeIntervalSince1970: TimeInterval(seconds)) }
}
