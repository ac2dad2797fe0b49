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
        let vault = try await loggedIn(issuer: issuer, folder: folder.path())
        guard let session = vault.auth.session else { throw VaultError(.notLoggedIn, "Nobody is logged in.") }

        var times = Times()
        for _ in 0..<rounds {
            times.add(try await ValidToken.measure(vault.auth, session))
            times.add(try await WaitingCallers.measure(session))
        }
        print(String(decoding: try JSONEncoder().encode(times.all), as: UTF8.self))
    }

    /// A vault on disk with one account that is open.
    private static func loggedIn(issuer: String, folder: String) async throws -> Vault {
        let configuration = VaultConfiguration(
            issuer: issuer, clientID: "vault-cli", keyServiceURL: "https://keys.example.com", folder: folder,
            argon2: .insecureForTests)
        let vault = try await Vault(configuration, keyService: InMemoryKeyService())
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
