// A desk that many people share, in one account of the machine. Each person logs in with a PIN:
//
//     swift run SharedDesk
//
// The accounts are those of the command vault. Register them with "vault register", and add PINs with
// "vault unlock add pin".

import CredentialVault
import Foundation

/// Reads the account's PIN, or its password if it has no PIN, with the echo off.
func askedSecret(of account: Account) throws -> UnlockMethod {
    if account.keyslot(.pin) != nil { return try .pin(SecretBytes.readLine(prompt: "PIN: ")) }
    return try .password(SecretBytes.readLine(prompt: "Password: "))
}

let environment = ProcessInfo.processInfo.environment
let vault = try await Vault(
    VaultConfiguration(
        keyServiceURL: environment["CREDENTIAL_VAULT_KEY_SERVICE"], folder: environment["CREDENTIAL_VAULT_HOME"]))
let desk = Desk(vault: vault, api: environment["SHARED_DESK_API"] ?? "https://api.example.com")

// The account locks after two minutes without a key, and ten seconds after the program is stopped.
await vault.auth.enableIdleTimeout(.seconds(120))
await vault.auth.enableBackgroundTimeout(duration: .seconds(10)) {}
let watching = Task {
    for await update in vault.auth.sessionUpdates(replaying: true) where update.event == .locked {
        print("\nLocked (\(update.reason?.description ?? "")).")
    }
}

print("people | take NAME | patients | notes | note TEXT | lock | quit")
while let line = readLine() {
    vault.auth.noteActivity()
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    do {
        switch (words.first, words.dropFirst().first) {
        case ("people", _):
            for person in try await desk.people() {
                print("\(person.account.displayName)\(person.hasPIN ? "" : " (no PIN)")")
            }
        case ("take", let name?):
            let account = try await vault.storage.account(userID: name)
            print(try await desk.take(account.id, with: askedSecret(of: account)))
        case ("patients", _): print(try await desk.patients().joined(separator: "\n"))
        case ("notes", _): print(try await desk.notes().joined(separator: "\n"))
        case ("note", let text?): try await desk.add(note: text)
        case ("lock", _): await vault.auth.lock()
        case ("quit", _): exit(0)
        default: print("people | take NAME | patients | notes | note TEXT | lock | quit")
        }
    } catch {
        print(Desk.advice(for: error))
    }
}
