internal import UnixSignals
internal import VaultDevelopment

/// The identity provider, the key service, and perhaps the backend. All of them run, or none.
struct Servers: Sendable {
    let provider: DevelopmentIdentityProvider
    let keyService: DevelopmentKeyService
    let backend: DevelopmentBackend?
    /// The addresses of the servers, with the real ports.
    let addresses: Addresses

    /// - Parameters:
    ///   - options: how the provider behaves. Its address and its state file are filled in here.
    ///   - backendOptions: how the backend behaves. Its address is filled in here; nil for no backend.
    static func start(
        _ wanted: Addresses, proxy: LoopbackAddress?, folder: String, options: DevelopmentIdentityProvider.Options,
        backendOptions: DevelopmentBackend.Options?
    ) async throws -> Servers {
        var options = options
        options.host = wanted.provider.host
        options.port = wanted.provider.port
        options.issuer = proxy.map { "http://\($0)" }
        options.stateFile = "\(folder)/identity-provider.json"
        let provider: DevelopmentIdentityProvider
        do {
            provider = try await DevelopmentIdentityProvider.start(options)
        } catch let error as VaultDevelopmentError where error.code == .addressInUse {
            throw VaultDevError("The identity provider did not start: \(error) Name another address with --listen.")
        }
        var backend: DevelopmentBackend?
        do {
            var addresses = wanted
            addresses.provider.port = provider.port
            if let backendOptions {
                let address = wanted.backend ?? LoopbackAddress()
                let running = try await start(backendOptions, at: address, for: provider)
                backend = running
                addresses.backend = address
                addresses.backend?.port = running.port
            }
            let keyService = try await DevelopmentKeyService.start(
                wanted.keyService, folder: "\(folder)/key-service", provider: provider)
            addresses.keyService.port = keyService.port
            return Servers(provider: provider, keyService: keyService, backend: backend, addresses: addresses)
        } catch {
            await backend?.stop()
            await provider.stop()
            throw error
        }
    }

    private static func start(
        _ options: DevelopmentBackend.Options, at address: LoopbackAddress, for provider: DevelopmentIdentityProvider
    ) async throws -> DevelopmentBackend {
        var options = options
        options.host = address.host
        options.port = address.port
        options.identityProvider = provider
        do {
            return try await DevelopmentBackend.start(options)
        } catch let error as VaultDevelopmentError where error.code == .addressInUse {
            throw VaultDevError("The backend did not start: \(error) Name another address with --backend-listen.")
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
        async let third: Void? = backend?.stop()
        _ = await (first, second, third)
    }

    /// The explanation for a person.
    func explanation(folder: DataFolder, environmentFile: String?) -> String {
        let users = provider.users.map { "\($0.username) (password \($0.password))" }.joined(separator: ", ")
        let data = folder.isTemporary ? "a temporary folder, removed at the end" : folder.path
        let next = environmentFile.map { "run: . \($0)" } ?? "paste the lines above into it"
        return """

            \(backend == nil ? "The identity provider" : "The identity provider, a backend") and the key service are \
            running, for this machine only.
            Users:  \(users)
            Data:   \(data)
            To use them in another shell, \(next)
            Ctrl-C stops \(backend == nil ? "both" : "all three").

            """
    }
}
