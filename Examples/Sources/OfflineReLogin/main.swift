// Registers once with OpenID Connect, quits, and from then on logs in with the password, without a browser.
//
// With vault-dev running and its environment loaded (see the README), in the folder Examples:
//
//     swift run OfflineReLogin register      (--scripted lets a program play the person: alice)
//     swift run OfflineReLogin login
//
// The password comes from standard input, so no argument and no environment contains it.

import CredentialVault
import Foundation
import VaultDevelopment

func setting(_ name: String) throws -> String {
    guard let value = ProcessInfo.processInfo.environment[name] else {
        throw VaultError(.configurationInvalid, "\(name) is not set. Start vault-dev and load its environment.")
    }
    return value
}

func register(_ vault: Vault, using userAgent: any UserAgent) async throws {
    // The person signs in at the provider. The vault checks the answer before it stores anything.
    let token = try await vault.auth.performOpenIDConnectLogin(using: userAgent)
    let password = try SecretBytes.readLine(prompt: "New password: ")
    // An existing account keeps its items if this is its present password. A new password must be hard to guess.
    if try await vault.storage.hasRefreshToken(userID: token.account.subject) {
        try await vault.storage.storeRefreshToken(token, withExistingPassword: password)
    } else {
        try await vault.storage.storeRefreshToken(token, withNewPassword: password)
    }
    print("Registered \(token.identity.preferredUsername ?? token.account.subject).")
}

func login(_ vault: Vault) async throws {
    guard let userID = try await vault.storage.availableUserIDs.first else {
        throw VaultError(.accountNotFound, "Nobody is registered here. Register first.")
    }
    // One call goes to the key service, which counts wrong passwords. Another goes to the provider, for a fresh token.
    let session = try await vault.auth.login(userID: userID, password: SecretBytes.readLine(prompt: "Password: "))
    let accessToken = try await session.accessToken()
    print(
        "Logged in. The access token has \(accessToken.value.count) characters and is good until \(accessToken.expiresAt?.formatted() ?? "revoked")."
    )
    try await vault.auth.logout()
    print("Logged out: is anybody logged in? \(vault.auth.isLoggedIn)")
}

do {
    let vault = try await Vault(
        VaultConfiguration(
            issuer: setting("CREDENTIAL_VAULT_ISSUER"), clientID: setting("CREDENTIAL_VAULT_CLIENT_ID"),
            keyServiceURL: setting("CREDENTIAL_VAULT_KEY_SERVICE"),
            folder: ProcessInfo.processInfo.environment["CREDENTIAL_VAULT_HOME"]))
    let arguments = CommandLine.arguments.dropFirst()
    switch arguments.first {
    case "register":
        let scripted = ScriptedBrowser(username: "alice", password: "alice-password")
        try await register(vault, using: arguments.contains("--scripted") ? scripted : SystemBrowser())
    case "login":
        try await login(vault)
    default:
        print("Usage: OfflineReLogin register [--scripted] | login")
        exit(64)
    }
} catch let error as VaultError {
    // The code decides the next step. The text is for the person.
    switch error.code {
    case .wrongSecret: print("Try again: \(error.description)")
    case .keyLocked, .refreshTokenExpired, .refreshInterrupted: print("Register again: \(error.description)")
    default: print("\(error.description)")
    }
    exit(1)
}
