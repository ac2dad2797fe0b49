internal import UnixSignals
internal import VaultTesting

/// The identity provider and the key service: both run, or none does.
struct Servers: Sendable {
    let provider: DevelopmentIdentityProvider
    let keyService: DevelopmentKeyService
    /// Where they listen, with the ports that were picked.
    let addresses: Addresses

    static func start(
        _ wanted: Addresses, proxy: LoopbackAddress?, folder: String, accessTokenLifetime: Int
    ) async throws -> Servers {
        var options = DevelopmentIdentityProvider.Options()
        options.host = wanted.provider.host
        options.port = wanted.provider.port
        options.issuer = proxy.map { "http://\($0)" }
        options.accessTokenLifetime = accessTokenLifetime
        options.stateFile = "\(folder)/identity-provider.json"
        let provider: DevelopmentIdentityProvider
        do {
            provider = try await DevelopmentIdentityProvider.start(options)
        } catch let error as VaultTestingError where error.code == .addressInUse {
            throw VaultDevError("The identity provider did not start: \(error) Name another address with --listen.")
        }
        do {
            let keyService = try await DevelopmentKeyService.start(wanted.keyService, folder: "\(folder)/key-service")
            var addresses = wanted
            addresses.provider.port = provider.port
            addresses.keyService.port = keyService.port
            return Servers(provider: provider, keyService: keyService, addresses: addresses)
        } catch {
            await provider.stop()
            throw error
        }
    }

    /// Returns when a signal arrives; throws when the key service ends by itself.
    func wait(for signals: UnixSignalsSequence) async throws {
        let (events, continuation) = AsyncThrowingStream.makeStream(of: UnixSignal.self)
        let listening = Task {
            for await signal in signals { continuation.yield(signal) }
        }
        let watching = Task {
            await keyService.waitUntilEnded()
            continuation.finish(throwing: VaultDevError("The key service has ended."))
        }
        defer {
            listening.cancel()
            watching.cancel()
        }
        for try await _ in events { return }
    }

    func stop() async {
        async let first: Void = provider.stop()
        async let second: Void = keyService.stop()
        _ = await (first, second)
    }

    /// What a person wants to know.
    func explanation(folder: DataFolder, environmentFile: String?) -> String {
        let users = provider.users.map { "\($0.username) (password \($0.password))" }.joined(separator: ", ")
        let data = folder.isTemporary ? "a temporary folder, removed at the end" : folder.path
        let next = environmentFile.map { "run: . \($0)" } ?? "paste the lines above into it"
        return """

            The identity provider and the key service are running, for this machine only.
            Users:  \(users)
            Data:   \(data)
            To use them in another shell, \(next)
            Ctrl-C stops both.

            """
    }
}
