internal import CredentialVault
internal import Foundation
internal import VaultBase

/// What a person at a terminal can type after an error or a notice. The libraries say what happened, because an app has
/// no commands. The command adds its own: these tables have them all.
enum Hints {
    /// The hint for an error; nil if its text says enough.
    static func hint(for error: VaultError) -> String? {
        if error.detail == .told { return nil }
        if let detail = error.detail, let hint = ofDetail[detail] { return hint(error) }
        if let objection = error.policyObjection {
            // A secret that is too short needs no look at the policy, and the days are in the text.
            return namesTheNumber(objection) ? nil : "To see the policy: vault doctor --verbose"
        }
        // The guess that locks the key. The next one has the code `keyLocked`.
        if error.code == .wrongSecret, error.guessesRemaining == 0, error.unlockMethod?.isCountedByKeyService == true {
            return unlocking(error)
        }
        if error.objection?.code == .notText { return "Type it in a terminal that uses UTF-8." }
        return ofCode[error.code]?(error)
    }

    /// The hints for codes that mean one thing.
    private static let ofCode: [VaultError.Code: @Sendable (VaultError) -> String] = [
        .lastGuess: { _ in "If this network works: \(Proposed.command("login --last-guess"))" },
        .offlineTooLong: { _ in "To allow more days: vault config set offline-max-age DAYS" },
        .deviceRevoked: { _ in registerAgain },
        .keyLocked: unlocking,
        .deviceNotFound: { _ in "To list the devices: \(Proposed.command("devices list"))" },
        .itemNotFound: { _ in "To list the items: \(Proposed.command("item list"))" },
        .lastUnlockMethod: { _ in
            "To add one: \(Proposed.command("unlock add KIND")) (KIND: \(AddedMethod.names.listed("or")))"
        },
        .keyServiceNotTrusted: { _ in
            "For the operator: vault-key-service identity show. To trust a new key: vault config set key-service-keys KEY"
        },
    ]

    /// The hints for the situations that share a code with others.
    private static let ofDetail: [VaultError.Detail: @Sendable (VaultError) -> String] = [
        .nameUnknown: { _ in "To see the accounts: vault users. To register one: vault register" },
        .notRegistered: { _ in "To register it: vault register" },
        .sessionClosed: { error in "To log in: vault login" + user(error) },
        .refusalNoted: { error in
            "If the server refused by mistake, ask it once more: vault token --refresh" + user(error)
        },
        .noAgent: { _ in "To log in: \(Proposed.command("login"))" },
        .noRefreshToken: { _ in Proposed.registering("Type") },
        .noOtherMethod: { error in
            let isLocked = error.code == .keyLocked || error.code == .wrongSecret && error.unlockMethod != .recovery
            return isLocked ? "\(unlocking(error)). \(registerAgain)" : registerAgain
        },
        .layoutDamaged: { _ in registerAgain },
        .plainHTTP: { _ in
            "For a server of your own on the local network, without encryption: vault register --insecure-http"
        },
        .fieldMissing: { _ in
            "If the backend has another name for it, put that name into the backend file: vault config set backend-file PATH"
        },
        .keyslotMissing: { error in
            guard let words = error.unlockMethod?.adding else { return listOfMethods }
            return "To add one: \(Proposed.command(words))"
        },
        .keyslotRemoved: { _ in listOfMethods },
        .noKeyService: { error in
            let policy = error.policyObjection == nil ? "" : "To see the policy: vault doctor --verbose. "
            return policy + "To move an account to a key service: vault key-services set URL" + user(error)
        },
        .keyslotDamaged: { error in
            error.unlockMethod?.remake.map { "To make a new one: \(Proposed.command($0))" } ?? listOfMethods
        },

        .agentRuns: { _ in "To see it: vault agent status" },
        .agentSilent: { _ in "To end the agent: \(killAgent)" },
        .agentOfOtherVersion: { _ in "Type: vault agent stop || \(killAgent); \(Proposed.command("login"))" },
        .agentSocketTaken: { _ in #"To remove it: rm -r "$XDG_RUNTIME_DIR/credential-vault""# },
        .agentFolderOpen: { error in "Type: chmod 700 \(path(error))" },
        .tokenNotStored: { _ in
            "To end it: vault agent stop. To end the agent and lose the token: vault agent stop --force"
        },

        .storeMoved: { _ in "To end the agent: vault agent stop" },
        .fuseFileSystem: { _ in
            "Name the new folder in CREDENTIAL_VAULT_HOME. If only this machine uses this file system: vault config set allow-fuse yes"
        },
        .networkFileSystem: { _ in "Name the new folder in CREDENTIAL_VAULT_HOME." },
        .fileOfOtherUser: { error in "As root: chown \(geteuid()) \(path(error))" },
        .folderOpenToOthers: { error in "Type: chmod 700 \(path(error))" },
        .fileOpenToOthers: { error in "Type: chmod 600 \(path(error))" },

        .clientIDMissing: { _ in "To set it: vault config set client-id ID" },
        .oldProtocol: { error in
            "To use it all the same: vault config set key-service-protocol \(error.value ?? "1")"
        },
        .devicesNotListed: { _ in
            "To list it: vault config set devices on. This sends an access token to the key service."
        },
        .policyKeysInvalid: { _ in "To print such a key: vault-key-service identity show" },
        .policyFileUnsafe: { error in "As root: chown root \(path(error)) && chmod 644 \(path(error))" },
        .policyFolderUnsafe: { error in "As root: chown root \(path(error)) && chmod 755 \(path(error))" },

        .audienceNotRestricted: { _ in
            "If the provider has another name for the key service: vault config set key-service-audience NAME. To send the token of the login all the same: vault config set key-service-audience any"
        },
        .ownerUnlockOff: { _ in "To let people unlock their own keys, \(serving(with: " --owner-unlock"))" },
        .deviceListsOff: { _ in "To switch the lists on, \(serving())" },
        .tokenNotTrusted: { _ in
            "The operator checks --owner-issuer, --owner-audience, --public-url and --owner-client-id. To read about these options: vault-key-service serve --help"
        },
        .apiTokenFromPage: { _ in "With the token: vault register --method token" },
        .clientPageMissing: { _ in
            #"Write {"server": {"clientDetails": {"client_uri": "https://apps.example.com/vault"}}} with an address of your own into the backend file: vault config set backend-file PATH"#
        },
        .sessionListMissing: { _ in Proposed.registering("With the path in the backend file") },
        .sessionUnknown: { _ in "See: \(Proposed.command("backend sessions"))" },
        .hardwareKeyMissing: { _ in "To make one: \(Proposed.command("unlock add pkcs11 --make-key"))" },
        .libraryMissing: { error in install([error.value ?? ""]) },
        .hardwareForbidden: { _ in "As root: usermod --append --groups tss USER" },
    ]

    /// The hint for a notice about an account; nil if its text says enough.
    static func hint(for notice: AccountNotice) -> String? {
        guard notice.code == .keyNotEnded else { return nil }
        return switch notice.end {
        case .later: "To try now: vault doctor"
        case .atLogin: "To end it now: \(Proposed.command("login"))"
        case .never:
            """
            For the operator of the key service: \(operators("revoke", [notice.keyID ?? "KEY"])). Write this down, \
            because vault shows it only now. If this machine is on your list of devices, you can also revoke it on \
            another machine: vault devices
            """
        }
    }

    /// The command against somebody who perhaps opened the account, and who then has the vault key.
    static func remedy(for notice: AccountNotice) -> String? {
        guard notice.mayBeRight else { return nil }
        return notice.keyslot == .password
            ? "to change the password and replace the vault key: \(Proposed.command("passwd --drop-other-methods"))"
            : "to remove the \(notice.keyslot.displayName) and replace the vault key: \(Proposed.command("rekey"))"
    }

    /// The ways to unlock the keys of these ids. Call ``Proposed/noteLock()`` before.
    static func unlocking(_ keys: [String]) -> String {
        var ways: [String] = []
        if let waiting = waiting(keys, Proposed.ownerUnlockTimes) {
            ways.append(waiting)
        } else if Proposed.mayBeUnlockedByOwner {
            ways.append(
                "To unlock the key by a sign-in, if the key service allows that: \(Proposed.command("unlock reset"))")
        }
        if !keys.isEmpty {
            ways.append("For the operator: \(operatorsUnlocking(keys))")
        } else if ways.isEmpty {
            ways.append("To see the command for the operator: \(Proposed.command("unlock list"))")
        }
        return ways.joined(separator: ". ")
    }

    /// Words that tell when a sign-in can unlock the first of these keys again; nil if a sign-in may unlock one now.
    ///
    /// - Parameter times: the answer of `Accounts.ownerUnlockTimes(of:)`.
    static func waiting(_ keys: [String], _ times: [String: Date]) -> String? {
        let ends = keys.compactMap { times[$0] }
        guard let first = ends.min(), ends.count == keys.count else { return nil }
        let (them, one) = keys.count == 1 ? ("the key", "it") : ("the keys", "one of them")
        return
            "A sign-in unlocked \(them) in the last 24 hours. A sign-in can unlock \(one) again after \(first.localText)"
    }

    /// The commands that unlock the keys of these ids, for the operator of the key service.
    static func operatorsUnlocking(_ keys: [String]) -> String { operators("unlock", keys) }

    /// The commands of the operator of the key service for the keys of these ids. Only the operator knows the options.
    static func operators(_ word: String, _ keys: [String]) -> String {
        // The ids come from the store or the key service. Nothing in them may be a command for the operator's shell.
        let commands = keys.map { "vault-key-service keys \(word) \(ShellQuoting.quoted(Printable.text($0)))" }
        return commands.joined(separator: " && ")
            + " (add the server's --data or --config\(keys.count > 1 ? " to each" : ""))"
    }

    /// The options of the key service with which it trusts the provider of the account, in words.
    ///
    /// - Parameter more: further options, with a space before each.
    private static func serving(with more: String = "") -> String {
        func word(_ text: String?, or name: String) -> String {
            text.map { ShellQuoting.quoted(Printable.text($0)) } ?? name
        }
        let issuer = word(Proposed.account?.id.issuer, or: "ISSUER")
        let url = word(Proposed.account?.keyServiceURL, or: "URL")
        return
            "the operator adds to vault-key-service serve: --owner-issuer \(issuer) --public-url \(url)\(more). Without --keep-unclaimed-keys, a new key that is on no list of devices ends after 24 hours. To read about these options: vault-key-service serve --help"
    }

    /// The hint after the agent lost a renewed token.
    static var afterLostToken: String { registerAgain }

    /// The command that installs packages of Debian.
    static func install(_ packages: [String]) -> String { "As root: apt install \(packages.joined(separator: " "))" }

    /// The command that limits the guesses of hardware of this kind; nil if there is none.
    static func guessLimit(of kind: String) -> String? {
        kind == "tpm2" ? "To set limits: tpm2_dictionarylockout --setup-parameters" : nil
    }

    /// The command that sets a lockout password on hardware of this kind; nil if there is none.
    static func lockoutPassword(of kind: String) -> String? {
        kind == "tpm2" ? "To set one: tpm2_changeauth -c lockout PASSWORD" : nil
    }

    /// The ways to unlock the key that the error is about.
    private static func unlocking(_ error: VaultError) -> String {
        let slot = error.unlockMethod.flatMap { Proposed.account?.keyslot($0) }
        return unlocking(slot.map { $0.needsKeyService ? [$0.keyID] : [] } ?? [])
    }

    private static var registerAgain: String { Proposed.registering() }
    private static var listOfMethods: String { "To list the unlock methods: \(Proposed.command("unlock list"))" }
    private static let killAgent = "pkill -f 'vault.* agent start'"

    private static func user(_ error: VaultError) -> String {
        error.value.map { " " + ShellQuoting.userOption($0) } ?? ""
    }

    private static func path(_ error: VaultError) -> String { ShellQuoting.quoted(error.value ?? "") }

    private static func namesTheNumber(_ objection: PolicyObjection) -> Bool {
        [.minimumPINLength, .minimumPasswordLength, .maximumOfflineDays].contains(objection.rule)
    }
}

extension Keyslot.Kind {
    /// Whether the key service counts wrong secrets of this kind.
    fileprivate var isCountedByKeyService: Bool { self == .password || self == .pin }
}

extension VaultError {
    /// The text for a person at a terminal: what happened, and what to type.
    var text: String { description + (Hints.hint(for: self).map { " " + $0 } ?? "") }

    /// As ``text``, before another sentence.
    var sentences: String { text.hasSuffix(".") ? text : text + "." }

    /// The same error with a text that says already what to type.
    func saying(_ text: String) -> VaultError {
        VaultError(
            code, text, detail: .told, unlockMethod: unlockMethod, guessesRemaining: guessesRemaining,
            accounts: accounts,
            retryAfter: retryAfter, objection: objection, policyObjection: policyObjection,
            underlying: underlying ?? self)
    }
}
