internal import ArgumentParser
internal import CredentialVault

/// How `vault register` makes an account without a key service. The password alone is never the default, because a thief
/// who has the disk can try passwords without limit.
struct NoKeyServiceOptions: ParsableArguments {
    /// What a person must know about such an account, in every place that shows it.
    static let fact = "Guesses are not counted by a service."

    @Flag(
        name: .customLong("no-key-service"),
        help: """
            Register without a key service, for one person on one machine. The TPM of this machine counts wrong PINs, \
            or the hardware that --pkcs11 or --fido2 names.
            """)
    var isChosen = false

    @Flag(
        name: .customLong("password-only"),
        help: """
            With --no-key-service, open the account with the password alone. A thief who has the disk can then try \
            passwords without limit.
            """)
    var passwordOnly = false

    @Flag(help: "With --no-key-service, open the account with a FIDO2 security key.")
    var fido2 = false

    @OptionGroup var hardware: HardwareOptions

    private var named: [Keyslot.Kind] {
        var kinds: [Keyslot.Kind] = []
        if passwordOnly { kinds.append(.password) }
        if fido2 { kinds.append(.fido2) }
        if let kind = hardware.kind { kinds.append(kind) }
        return kinds
    }

    /// The unlock method of a new account.
    var firstKind: Keyslot.Kind { isChosen ? named.first ?? .tpm2 : .password }

    func validate() throws {
        guard isChosen || named.isEmpty else {
            let advice = named.lazy.compactMap(\.adding).first.map { " To add hardware to an account: vault \($0)" }
            throw ValidationError(
                "--password-only, --fido2, --pkcs11 and --tpm2 belong to --no-key-service.\(advice ?? "")")
        }
        guard named.count < 2 else {
            throw ValidationError("A new account has only one unlock method. Add others later.")
        }
    }

    /// What the choice costs, for the person; nil with a key service.
    var cost: String? {
        guard isChosen else { return nil }
        guard firstKind != .password else {
            return
                "\(Self.fact) A thief who has this machine's disk can try passwords without limit. Only a long password prevents that."
        }
        return
            "\(Self.fact) The \(firstKind.displayName) counts wrong PINs. If it is stolen, nobody can revoke it."
    }

    /// Returns the hardware that opens the new account, before the person signs in; nil for a password.
    ///
    /// - Throws: `VaultError` with code `configurationInvalid` if the hardware does not limit wrong PINs, or if this
    ///   program was built without it; `hardwareMissing`.
    func provider(_ settings: Settings) async throws -> (any BiometricProvider)? {
        guard firstKind != .password else { return nil }
        do {
            return try await firmHardware(settings)
        } catch let reason as VaultError where named.isEmpty {
            throw reason.saying(
                "\(reason.sentences) Without such a TPM, add --pkcs11 or --fido2 for a token, or --password-only for the password alone."
            )
        }
    }

    private func firmHardware(_ settings: Settings) async throws -> any BiometricProvider {
        do {
            let provider = try Hardware(settings).provider(firstKind, at: hardware.address)
            try await MethodKind.Addition.requireFirmLimit(of: provider)
            return provider
        } catch {
            throw VaultError.converting(error, unlockMethod: firstKind)
        }
    }

    /// Returns why no TPM of this machine counts wrong PINs; nil if one does.
    ///
    /// - Throws: `VaultError` with code `cancelled`.
    static func problemOfTPM(_ settings: Settings) async throws -> VaultError? {
        do {
            _ = try await parse(["--no-key-service"]).firmHardware(settings)
            return nil
        } catch let error as VaultError where error.code != .cancelled {
            return error
        }
    }
}

extension VaultConfiguration {
    /// New accounts get no key service, even if the settings name one.
    mutating func useNoKeyService() { (keyServiceURL, registersWithoutKeyService) = (nil, true) }
}

extension ServiceChecks {
    /// Names the accounts whose guesses nobody counts; nothing if there are none.
    static func uncountedGuesses(_ accounts: [Account]) -> [Check] {
        let names = accounts.filter { !$0.hasKeyService }.map { Printable.text($0.displayName) }
        guard !names.isEmpty else { return [] }
        return [
            Check(
                name: "guesses", outcome: .warn,
                finding: "\(NoKeyServiceOptions.fact) Accounts: \(names.listed("and")).",
                advice:
                    "This may be right for one person on one machine. To move an account to a key service: vault key-services set URL"
            )
        ]
    }
}
