internal import FoundationEssentials
internal import VaultBase

/// Fetches the provider's metadata once for all callers, and again when it is too old.
final class Discovery: Sendable {
    private struct Known {
        let document: JSONValue
        let metadata: ProviderMetadata
        let fetchedAt: Date
        /// The end of the time in which callers get this document without a new request.
        var freshUntil: Date
        /// The metadata with the members of the RFC 8414 document, and the end of their time. Nil before the first
        /// request for them.
        var complete: (metadata: ProviderMetadata, until: Date)?
        /// The last valid RFC 8414 document, and the time when it came. It stays in use while a new one cannot be
        /// fetched.
        var other: (document: JSONValue, fetchedAt: Date)?

        func isFresh(at now: Date) -> Bool { Self.isReached(freshUntil, at: now) }

        func complete(at now: Date) -> ProviderMetadata? {
            complete.flatMap { Self.isReached($0.until, at: now) ? $0.metadata : nil }
        }

        /// Whether a time is in the future. A time too far in the future means that somebody set the clock back.
        private static func isReached(_ time: Date, at now: Date) -> Bool {
            (0...DocumentLifetime.longest).contains(time.timeIntervalSince(now)) && time != now
        }
    }

    /// The time between a failed renewal and the next try, in seconds. The old document stays in use meanwhile.
    private static let retryInterval: TimeInterval = 60
    /// The RFC 8414 document is optional, so it is not worth a long wait.
    private static let timeout = Duration.seconds(10)

    private let issuer: String
    private let connection: ProviderConnection
    private let clock: any WallClock
    private let flight = SingleFlight<ProviderMetadata>()
    private let completion = SingleFlight<ProviderMetadata>()
    private let cached = Lock<Known?>(nil)

    init(issuer: String, connection: ProviderConnection, clock: any WallClock) {
        self.issuer = issuer
        self.connection = connection
        self.clock = clock
    }

    /// Returns the OpenID Connect document. If there is none, returns the RFC 8414 document.
    func metadata() async throws -> ProviderMetadata {
        if let known = fresh() { return known.metadata }
        guard EndpointURL.isAllowed(issuer), !issuer.contains("?") else {
            throw OpenIDConnectError(.configurationInvalid, "the issuer is not an https URL")
        }
        return try await sharing(flight) { [self] in
            // Another caller may have finished since the check above.
            if let known = fresh() { return known.metadata }
            do {
                var known = try await fetch()
                cached.withLock { cached in
                    known.other = cached?.other
                    cached = known
                }
                return known.metadata
            } catch {
                guard let old = keepOld() else { throw error }
                return old.metadata
            }
        }
    }

    /// Returns the metadata, and the members that only the RFC 8414 document has.
    ///
    /// The RFC 8414 document is optional, so a bad one is ignored. After a failure, the last good one stays in use for
    /// up to a day. Without it, sign-ins would silently lose the protection that it describes.
    func completeMetadata() async throws -> ProviderMetadata {
        let metadata = try await metadata()
        if let complete = cached.withLock({ $0?.complete(at: clock.now) }) { return complete }
        return try await sharing(completion) { [self] in
            guard let known = cached.withLock({ $0 }) else { return metadata }
            if let complete = known.complete(at: clock.now) { return complete }
            var complete: ProviderMetadata?
            var other: (document: JSONValue, fetchedAt: Date)?
            var lifetime = DocumentLifetime.longest  // As long as the document that it completes.
            var isGone = false
            do {
                let document = try await connection.getDocument(
                    Self.authorizationServerURL(of: issuer), named: "the provider's metadata", within: Self.timeout
                ).json
                complete = merged(known, with: document)
                if complete != nil { other = (document, clock.now) }
            } catch let error as OpenIDConnectError where error.code == .invalidAnswer {
                isGone = error.status == 404 || error.status == 410
            } catch {
                lifetime = Self.retryInterval
            }
            if complete == nil, !isGone, let last = known.other,
                clock.now.timeIntervalSince(last.fetchedAt) < DocumentLifetime.longest
            {
                complete = merged(known, with: last.document)
                other = last
                lifetime = Self.retryInterval
            }
            let result = complete ?? known.metadata
            let until = clock.now.addingTimeInterval(lifetime)
            cached.withLock { cached in
                guard cached?.fetchedAt == known.fetchedAt else { return }
                cached?.complete = (result, until)
                cached?.other = other
            }
            return result
        }
    }

    private func fresh() -> Known? {
        cached.withLock { known in known.flatMap { $0.isFresh(at: clock.now) ? $0 : nil } }
    }

    /// Returns the old document again, unless it is older than a day.
    private func keepOld() -> Known? {
        let now = clock.now
        return cached.withLock { known in
            guard let old = known, now.timeIntervalSince(old.fetchedAt) < DocumentLifetime.longest else { return nil }
            known?.freshUntil = now.addingTimeInterval(Self.retryInterval)
            return known
        }
    }

    private func fetch() async throws -> Known {
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        let name = "the provider's metadata"
        let answer: (json: JSONValue, lifetime: TimeInterval)
        var isComplete = false
        do {
            answer = try await connection.getDocument(base + "/.well-known/openid-configuration", named: name)
        } catch let error as OpenIDConnectError where error.status == 404 || error.status == 410 {
            answer = try await connection.getDocument(Self.authorizationServerURL(of: issuer), named: name)
            isComplete = true
        }
        let metadata = try ProviderMetadata(document: answer.json, issuer: issuer)
        let now = clock.now
        return Known(
            document: answer.json, metadata: metadata, fetchedAt: now,
            freshUntil: now.addingTimeInterval(answer.lifetime),
            complete: isComplete ? (metadata, now.addingTimeInterval(DocumentLifetime.longest)) : nil)
    }

    /// Returns nil if the other document is not valid.
    private func merged(_ known: Known, with other: JSONValue) -> ProviderMetadata? {
        guard other["issuer"]?.string == issuer, case .object(var members) = other,
            case .object(let own) = known.document
        else { return nil }
        members.merge(own.filter { $0.value != .null }) { $1 }
        return try? ProviderMetadata(document: .object(members), issuer: issuer)
    }

    /// The well-known path stands before the issuer's own (RFC 8414 section 3.1).
    static func authorizationServerURL(of issuer: String) -> String {
        let parts = EndpointURL.split(issuer)
        let path = parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path
        return "\(parts.scheme)://\(parts.authority)/.well-known/oauth-authorization-server\(path)"
    }

    private func sharing(
        _ flight: SingleFlight<ProviderMetadata>, _ work: @escaping @Sendable () async throws -> ProviderMetadata
    ) async throws -> ProviderMetadata {
        do {
            return try await flight.run(work)
        } catch let error as CancellationError {
            throw OpenIDConnectError(.cancelled, "", underlying: error)
        }
    }
}
