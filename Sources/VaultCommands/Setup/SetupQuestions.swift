internal import CredentialVault
internal import Foundation
internal import VaultBase

/// The questions of `vault setup`. Each answer is tried at once, and asked for again if it does not work.
struct SetupQuestions {
    let terminal: any Terminal
    /// The settings in force. They are the usual answers.
    let settings: Settings
    let transport: any HTTPTransport
    let policy: VaultPolicy

    /// Asks for the provider, the client and the key service.
    ///
    /// - Returns: the settings, as the file has them.
    /// - Throws: `VaultError` with code `cancelled`: nothing was changed.
    func ask() async throws -> [Settings.Name: String] {
        let provider = try await provider()
        var values = try await client(of: provider)
        values[.issuer] = provider.issuer
        values[.keyService] = try await keyService()
        return values
    }

    private func provider() async throws -> ProviderMetadata {
        try await untilRight("Identity provider (its issuer URL)", settings[.issuer]) { typed in
            let url = try Self.url(typed)
            try Settings.Name.issuer.validate(url)
            let provider = try await Spinner.during("Asking the provider") { try await discover(url) }
            try policy.requireAllowed(issuer: provider.issuer)
            terminal.tell("\(Printable.text(provider.issuer)) answers:")
            for line in ProviderSummary(provider).lines { terminal.tell(line) }
            return provider
        }
    }

    /// Asks the provider for its metadata. Issuers are compared character by character (OpenID Connect Discovery
    /// section 4.3), and people forget the slash at the end or type one too many.
    private func discover(_ url: String) async throws -> ProviderMetadata {
        do {
            return try await metadata(of: url)
        } catch let error as OpenIDConnectError where error.code == .invalidAnswer {
            let other = url.hasSuffix("/") ? String(url.dropLast()) : url + "/"
            guard let found = try? await metadata(of: other) else { throw error }
            return found
        }
    }

    private func metadata(of issuer: String) async throws -> ProviderMetadata {
        try await OpenIDProvider(issuer: issuer, clientID: "", transport: transport).completeMetadata()
    }

    private func client(of provider: ProviderMetadata) async throws -> [Settings.Name: String] {
        let usual = provider.issuer == settings[.issuer] ? settings[.clientID] : nil
        let registers = provider.registrationEndpoint != nil
        let question = registers && usual == nil ? "Client id (empty: vault registers a client)" : "Client id"
        return try await untilRight(question, usual) { id in
            guard !id.isEmpty else {
                if registers { return [:] }
                throw VaultError(
                    .configurationInvalid,
                    "This provider registers no clients by itself. Register a public client there, and type its id.")
            }
            let check = ClientCheck(provider: provider, id: id, transport: transport)
            var secretFile = id == usual ? settings.clientSecretFile : nil
            var isKnown = try await check.run(secretFile)
            if !isKnown && secretFile == nil {
                let file = try await line(
                    "The provider does not know this client, or the client has a secret. File with its secret (empty: another client)",
                    nil)
                if !file.isEmpty {
                    secretFile = try Settings.Name.clientSecretFile.stored(file)
                    isKnown = try await check.run(secretFile)
                }
            }
            guard isKnown else {
                throw VaultError(
                    .configurationInvalid,
                    "The provider does not accept the client \(Printable.text(id)). Check its id and its secret.")
            }
            var values = [Settings.Name.clientID: id]
            values[.clientSecretFile] = secretFile
            return values
        }
    }

    /// Asks for the key service.
    ///
    /// - Returns: nil if the person wants none.
    private func keyService() async throws -> String? {
        let usual = settings[.keyService]
        let mayHaveNone = usual == nil && policy.allows(keyService: "")
        let question = mayHaveNone ? "Key service (its URL, or none)" : "Key service (its URL)"
        return try await untilRight(question, usual) { typed in
            if mayHaveNone && typed.lowercased() == "none" {
                terminal.tell("\(NoKeyServiceOptions.fact) That is only for a machine that nobody else uses.")
                return nil
            }
            let url = try Self.url(typed, orNone: mayHaveNone)
            try Settings.Name.keyService.validate(url)
            try policy.requireAllowed(keyService: url)
            let service = try HTTPKeyService(baseURL: url, transport: transport)
            let isReady = try await Spinner.during("Asking the key service") {
                try await service.requireKeyService(mayBeVersion1: settings[.keyServiceProtocol] == "1")
                return (try? await service.saysNotReady()) != true
            }
            guard isReady else {
                throw VaultError(
                    .keyServiceUnavailable,
                    "\(url) answers, but is not ready. Ask its operator. The newest error in its log says why.")
            }
            terminal.tell("\(url) answers.")
            return url
        }
    }

    /// A name without a scheme gets https, or http if it is this machine's, where servers seldom have a certificate.
    private static func url(_ typed: String, orNone: Bool = false) throws -> String {
        guard !typed.isEmpty else {
            throw VaultError(.configurationInvalid, "Type a URL\(orNone ? ", or none" : ""). To stop: Ctrl-C")
        }
        guard !typed.contains("://") else { return typed }
        let isLocal = LoopbackAddress.isLoopback(host: URLComponents(string: "https://" + typed)?.host ?? "")
        return (isLocal ? "http://" : "https://") + typed
    }

    /// Asks until an answer works. Return always gives the usual one, and never a typed answer that did not work.
    private func untilRight<R>(
        _ question: String, _ usual: String?, _ attempt: (_ answer: String) async throws -> R
    ) async throws -> R {
        while true {
            let answer = try await line(question, usual)
            do {
                return try await attempt(answer)
            } catch {
                guard let problem = VaultError.converting(error) as? VaultError, problem.code != .cancelled else {
                    throw error
                }
                terminal.tell("vault: \(problem.text)")
            }
        }
    }

    /// Asks for a line.
    ///
    /// - Parameter usual: the answer of an empty line.
    private func line(_ question: String, _ usual: String?) async throws -> String {
        let shown = usual.map { " [\(Printable.text($0))]" } ?? ""
        while true {
            let typed = try await terminal.ask("\(question)\(shown): ").trimmingCharacters(in: .whitespaces)
            guard Printable.text(typed) == typed else {
                terminal.tell(
                    "The input has a control character, for example from an arrow key. Type the input again.")
                continue
            }
            return typed.isEmpty ? usual ?? "" : typed
        }
    }
}
