public import VaultBiometric
package import VaultCrypto
internal import VaultStorage

extension UnlockMethod {
    /// The keyring of the desktop, which opens the account without a question, for anybody who is logged in to it.
    ///
    /// A session that it opened cannot add unlock methods: those calls throw `secretRequired`. See ``DesktopProvider``.
    ///
    /// - Parameter keyring: the desktop's keyring.
    public static func desktop(_ keyring: any DesktopKeyring) -> UnlockMethod {
        .hardware(DesktopProvider(keyring), NoQuestions())
    }

    /// Refuses a method that asks the person nothing. Somebody at an unlocked screen could otherwise make an unlock
    /// method of their own.
    ///
    /// - Throws: ``VaultError`` with code `secretRequired`.
    package func requireSecret() throws {
        guard !kind.asksNothing else { throw VaultError.secretRequired }
    }
}

/// The prompt of a provider that has no PIN.
package struct NoQuestions: BiometricPrompt {
    package init() {}

    package func pin(_ request: PINRequest) async throws -> SecretBytes {
        throw BiometricError(.failed, "Nobody can be asked for the PIN of \(request.label).")
    }

    package func act(_ instruction: String) async {}
}
