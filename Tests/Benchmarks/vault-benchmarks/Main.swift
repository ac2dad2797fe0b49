internal import CredentialVault
internal import Foundation
internal import VaultDevelopment
internal import VaultTesting

/// Measures times that cannot be measured from outside the program, and prints them in seconds as JSON. The argument is
/// the number of rounds. The environment has the issuer of a running `vault-dev`. Each round measures all cases in
/// turn, so that a disturbance of the machine affects all of them.
///
/// `vault-benchmarks agent SOCKET ROUNDS` measures a running agent instead.
@main struct VaultBenchmarks {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 4, arguments[1] == "agent", let rounds = Int(arguments[3]) {
            return try AgentRate.run(path: arguments[2], rounds: rounds)
        }
        if arguments.dropFirst() == ["echo"] { return AgentRate.echo() }
        guard let rounds = CommandLine.arguments.dropFirst().first.flatMap(Int.init),
            let issuer = ProcessInfo.processInfo.environment["CREDENTIAL_VAULT_ISSUER"]
        else {
            throw VaultError(.configurationInvalid, "Usage: CREDENTIAL_VAULT_ISSUER=URL vault-benchmarks ROUNDS")
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "vault-benchmarks-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let vault = try await loggedIn(
            Vault(configuration(issuer, folder: folder.path()), keyService: InMemoryKeyService()))
        guard let session = vault.auth.session else { throw VaultError(.notLoggedIn, "Nobody is logged in.") }
        var usual = configuration(issuer, folder: folder.appending(path: "cost").path())
        usual.argon2 = .standard
        let costly = try await loggedIn(Vault(usual))
        guard let person = costly.auth.session else { throw VaultError(.notLoggedIn, "Nobody is logged in.") }
        let loginCost = try await LoginCost.prepare(costly, person)

        var times = Times()
        for _ in 0..<rounds {
            times.add(try await ValidToken.measure(vault.auth, session))
            times.add(try await WaitingCallers.measure(session))
            times.add(try await loginCost())
        }
        print(String(decoding: try JSONEncoder().encode(times.all), as: UTF8.self))
    }

    private static func configuration(_ issuer: String, folder: String) -> VaultConfiguration {
        VaultConfiguration(
            issuer: issuer, clientID: "vault-cli",
            keyServiceURL: ProcessInfo.processInfo.environment["CREDENTIAL_VAULT_KEY_SERVICE"], folder: folder,
            argon2: .insecureForTests)
    }

    /// Opens one account of a vault on disk.
    private static func loggedIn(_ vault: Vault) async throws -> Vault {
        let token = try await vault.auth.performOpenIDConnectLogin(
            using: ScriptedBrowser(username: "alice", password: "alice-password"))
        try await vault.storage.storeRefreshToken(
            token, withNewPassword: SecretBytes(utf8: "seven otters juggle"))
        return vault
    }
}

/// The times of each measurement, by its name.
struct Times {
    private(set) var all: [String: [Double]] = [:]

    mutating func add(_ round: [String: Duration]) {
        for (name, duration) in round { all[name, default: []].append(duration / .seconds(1)) }
    }
}
