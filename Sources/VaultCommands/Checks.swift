internal import CLinux
internal import CredentialVault
internal import Foundation
internal import VaultBase

/// One thing that `vault doctor` looked at.
struct Check: Encodable {
    enum Outcome: String, Encodable {
        case ok, warn, fail
    }

    let name: String
    let outcome: Outcome
    /// What was found.
    var finding: String
    /// What to do about it.
    var advice: String?
    /// The account that it is about, as `--user` takes it; nil for none.
    var user: String?
}

/// The checks that need no network.
enum MachineChecks {
    static func all() async -> [Check] {
        [libraries(), aes(), lockedMemory(), coreDumps(), await terminal(), browser(), await ScreenLock.check()]
    }

    private static func libraries() -> Check {
        guard let version = Libraries.sodiumVersion, Libraries.selfTest() else {
            return Check(
                name: "libraries", outcome: .fail, finding: "libsodium or libargon2 compute wrong results.",
                advice: "Install both as shared libraries: apt-get install --reinstall libsodium23 libargon2-1")
        }
        return Check(
            name: "libraries", outcome: .ok, finding: "libsodium \(version) and libargon2 pass their self-test.")
    }

    private static func aes() -> Check {
        SealedEnvelope.hasHardwareAES
            ? Check(name: "AES", outcome: .ok, finding: "The processor has AES instructions: AES-256-GCM is used.")
            : Check(
                name: "AES", outcome: .warn,
                finding: "The processor has no AES instructions: XChaCha20-Poly1305 is used.",
                advice: "You need do nothing. A store that another machine sealed with AES-256-GCM does not open here.")
    }

    private static func lockedMemory() -> Check {
        let limit = linux_locked_memory_limit()
        let kibibytes = limit == rlim_t.max ? Int.max : Int(limit / 1024)
        if kibibytes >= 1024 {
            let text = kibibytes == .max ? "without limit" : "up to \(kibibytes) KiB"
            return Check(name: "locked memory", outcome: .ok, finding: "Keys are kept out of swap (\(text)).")
        }
        return Check(
            name: "locked memory", outcome: .warn,
            finding: "Only \(kibibytes) KiB can be locked. Keys could reach the swap.",
            advice: "Raise the limit (ulimit -l 8192, or LimitMEMLOCK= in a unit), or encrypt the swap.")
    }

    private static func coreDumps() -> Check {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        return limit.rlim_cur == 0
            ? Check(name: "core dumps", outcome: .ok, finding: "This program leaves none.")
            : Check(
                name: "core dumps", outcome: .warn, finding: "This program could not switch them off.",
                advice: "Set the limit yourself: ulimit -c 0")
    }

    private static func terminal() async -> Check {
        if ControllingTerminal().isInteractive {
            return Check(name: "terminal", outcome: .ok, finding: "There is one to ask for the password.")
        }
        if let pinentry = try? await Pinentry.configured(), access(pinentry.program, X_OK) == 0 {
            return Check(
                name: "terminal", outcome: .ok, finding: "There is none. \(pinentry.program) asks for the password.")
        }
        return Check(
            name: "terminal", outcome: .warn, finding: "There is none to ask for the password.",
            advice: "Use --password-file or --password-fd.")
    }

    private static func browser() -> Check {
        guard Desktop.opener != nil else {
            return Check(
                name: "browser", outcome: .warn, finding: "xdg-open is not there.",
                advice: "Install xdg-utils, or use: vault register --no-browser (or --paste, or --device)")
        }
        guard Desktop.hasBrowser else {
            return Check(
                name: "browser", outcome: .warn, finding: "There is no display for a browser.",
                advice: "Use: vault register --device, or --paste with a browser on another machine")
        }
        return Check(name: "browser", outcome: .ok, finding: "xdg-open is there.")
    }
}

/// The checks that need the store, the identity provider or the key service.
struct ServiceChecks {
    let settings: Settings

    /// - Throws: `VaultError` with code `configurationInvalid` if no server can be checked with the settings.
    func all() async throws -> [Check] {
        let transport = try settings.transport()
        let accounts = (try? await storage().all()) ?? []
        let ofAccounts = await accountChecks(transport, accounts)
        let services = [await issuer(transport, accounts), await keyService(transport, accounts)]
        let isDown = (ofAccounts + services).contains { $0.name == "key service" && $0.outcome == .fail }
        return [fileSystem(), policy(), await store()] + ofAccounts + services
            + [await oldKeys(isKeyServiceDown: isDown)]
            + Self.uncountedGuesses(accounts) + clientSecret() + (await apiTokens(transport))
    }

    private func clientSecret() -> [Check] {
        guard let path = settings.clientSecretFile else { return [] }
        do {
            _ = try ClientSecretFile(path: path).read()
            return [Check(name: "client secret", outcome: .ok, finding: "Only you can read \(path).")]
        } catch {
            return [failure("client secret", error, advice: "To use none: vault config set client-secret-file ''")]
        }
    }

    private func fileSystem() -> Check {
        let folder = settings[.home] ?? Vault.standardFolder
        switch FileSystemKind(of: folder) {
        case .local: return Check(name: "file system", outcome: .ok, finding: "The store is on a local disk.")
        case .fuse:
            let isAllowed = settings[.allowFUSE] == "yes"
            return Check(
                name: "file system", outcome: isAllowed ? .warn : .fail,
                finding: "\(folder) is on a FUSE file system, which can damage the store.",
                advice: isAllowed
                    ? "Use it on this machine alone (allow-fuse is yes), or move the store to a local disk."
                    : "Move the store to a local disk, or: vault config set allow-fuse yes")
        case .shared(let name):
            return Check(
                name: "file system", outcome: .fail,
                finding: "\(folder) is on a network file system (\(name)), which can damage the store.",
                advice: "Move the store to a local disk, and: vault config set home FOLDER")
        }
    }

    /// The accounts of every issuer.
    func storage() async throws -> any StorageProtocol { try await vault().storage }

    /// The library with the accounts of every issuer.
    func vault() async throws -> Vault {
        var configuration = try settings.configuration()
        configuration.issuer = nil
        return try await Vault(configuration)
    }

    private func store() async -> Check {
        do {
            let storage = try await storage()
            try await storage.checkWritable()
            let count = try await storage.all().count
            let folder = settings[.home] ?? Vault.standardFolder
            return Check(
                name: "store", outcome: .ok, finding: "\(folder) is private and can be written. Accounts: \(count).")
        } catch {
            return failure(
                "store", error, advice: "Nothing was changed. Remove the cause above, then again: vault doctor")
        }
    }

    private func issuer(_ transport: any HTTPTransport, _ accounts: [Account]) async -> Check {
        guard let issuer = settings[.issuer] else {
            return Check(
                name: "issuer", outcome: .warn, finding: "None is set.",
                advice: """
                    To set up everything: vault setup. To set only the issuer: \
                    vault config set issuer https://login.example.com
                    """)
        }
        do {
            if let kind = try backendKind(of: issuer, accounts) { return try await backend(issuer, kind, transport) }
            let metadata = try await OpenIDProvider(
                issuer: issuer, clientID: settings[.clientID] ?? "", transport: transport, clock: SystemWallClock()
            ).completeMetadata()
            guard settings[.clientID] != nil || metadata.registrationEndpoint != nil else {
                return Check(
                    name: "issuer", outcome: .warn,
                    finding: "\(metadata.issuer) answers. No client id is set, and it does not register clients.",
                    advice: "Register a public client at the provider, then: vault config set client-id ID")
            }
            return Check(name: "issuer", outcome: .ok, finding: "\(metadata.issuer) answers.")
        } catch {
            return failure(
                "issuer", error,
                advice: "Check the network and the URL. The URL must be exactly the provider's own issuer URL.")
        }
    }

    /// The kind of backend at the issuer; nil for an OpenID provider. The accounts there know it, if they agree. Otherwise
    /// the setting `method` tells it.
    private func backendKind(of issuer: String, _ accounts: [Account]) throws -> BackendCheck.Kind? {
        let methods = accounts.filter { $0.belongs(to: issuer) }.map(\.method)
        let kinds = Set(methods.map(BackendCheck.Kind.init(of:)))
        // No other method has a call that could be checked.
        let known: [SignInMethod] = [.openIDConnect, .backend, .passwordBackend, .serverOAuth, .serverToken]
        guard let kind = kinds.first, kinds.count == 1, methods.allSatisfy(known.contains) else {
            return try settings.signInChoice?.backendKind
        }
        return kind
    }

    private func backend(
        _ url: String, _ kind: BackendCheck.Kind, _ transport: any HTTPTransport
    ) async throws -> Check {
        let configuration = try settings.configuration()
        if let problem = configuration.backendProblem { throw problem }
        let findings = try await BackendCheck(url, as: kind, layout: configuration.backend, transport: transport).run()
        let missing = findings.filter { !$0.isThere && !$0.isOptional }.map { "\($0.call) (HTTP \($0.status))" }
        guard missing.isEmpty else {
            return Check(
                name: "issuer", outcome: .fail,
                finding: "\(url) answers, but is not such a backend: \(missing.joined(separator: ", ")).",
                advice: "Check the URL, the method, and the paths in the backend file: vault config get")
        }
        let calls = findings.map {
            "\($0.call) (HTTP \($0.status)\($0.isThere ? "" : ", but a sign-in works without it"))"
        }.joined(separator: ", ")
        let version = findings.lazy.compactMap(\.version).first.map { " Its version is \($0)." } ?? ""
        if (try? ServerEndpoint(url, allowsInsecureHTTP: true))?.isInsecure == true {
            return Check(
                name: "issuer", outcome: .warn,
                finding: "\(url) answers: \(calls).\(version) The connection is not encrypted.",
                advice: "Use https, or a network that only you can read.")
        }
        return Check(name: "issuer", outcome: .ok, finding: "\(url) answers: \(calls).\(version)")
    }

    private func keyService(_ transport: any HTTPTransport, _ accounts: [Account]) async -> Check {
        guard let url = settings[.keyService] else {
            if !accounts.isEmpty, accounts.allSatisfy({ !$0.hasKeyService }) {
                return Check(name: "key service", outcome: .ok, finding: "None is set, and no account here has one.")
            }
            let command = "vault config set key-service https://keys.example.com"
            return Check(
                name: "key service", outcome: .warn, finding: "None is set.",
                advice: settings[.issuer] == nil
                    ? "To set up everything: vault setup. To set only the key service: \(command)" : command)
        }
        return await keyService(at: url, transport, accounts)
    }

    func failure(_ name: String, _ error: any Error, advice: String) -> Check {
        let finding =
            (VaultError.converting(error) as? VaultError)?.text ?? "The check failed for an unknown reason."
        return Check(name: name, outcome: .fail, finding: finding, advice: advice)
    }
}

extension BackendCheck.Kind {
    /// The kind of backend of an account's method; nil for any other method.
    fileprivate init?(of method: SignInMethod) {
        switch method {
        case .backend: self = .browser
        case .passwordBackend: self = .password
        case .serverOAuth, .serverToken: self = .server
        default: return nil
        }
    }
}
