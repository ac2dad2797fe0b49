internal import CredentialVault

// The questions for the secret of an account, and when one is asked again.
extension UnlockOptions {
    /// The longest wait for an answer of the key service before a person is asked.
    static let glance = Duration.seconds(2)

    /// The kind of the named unlock method, or else of the password.
    ///
    /// - Parameter isReusable: refuses a recovery code, for commands that cannot show the new code.
    func kind(for account: Account, isReusable: Bool) throws -> Keyslot.Kind {
        guard !isReusable || !usesRecoveryCode else {
            throw VaultError(
                .configurationInvalid,
                "This command cannot show a new recovery code. Use the recovery code with: \(Proposed.command("passwd --recovery-code")), or \(Proposed.command("login --recovery-code"))"
            )
        }
        let kind = named ?? .password
        if kind == .password && account.passwordKeyslot == nil && account.damagedKeyslots.isEmpty {
            throw account.withoutPassword
        }
        return kind
    }

    /// Asks for the secret of an unlock method, and opens with it. After a wrong secret, asks again while at least two
    /// guesses are left, or up to three times if no key service counts. So a command spends the last guess only if it
    /// begins with that, and the person knows.
    ///
    /// - Parameters:
    ///   - prompt: how to ask for the password.
    ///   - ending: more words of the question.
    ///   - isReusable: whether a recovery code cannot open the account here.
    ///   - canBeSkipped: whether another unlock method is tried when the person types nothing.
    ///   - open: what needs the method.
    func asking<R>(
        for kind: Keyslot.Kind, of account: Account, in vault: Vault, _ terminal: any Terminal,
        password prompt: String = "Password", ending: String = "", isReusable: Bool = true, canBeSkipped: Bool = false,
        _ open: (UnlockMethod) async throws -> R
    ) async throws -> R {
        // The notes about the other methods are read only if somebody needs them: each login would wait for them.
        func otherWay() async -> String? {
            await self.otherWay(than: kind, of: account, in: vault, isReusable: isReusable, terminal)
        }
        // The ending says itself what happens if the person types nothing.
        try await tellState(
            of: kind, in: account, vault, terminal, otherWay: otherWay, canBeSkipped: canBeSkipped && ending.isEmpty)
        var refused = RefusedSecrets(of: kind)
        while true {
            let method = try await self.method(
                kind, for: account, terminal, password: prompt, ending: ending, canBeSkipped: canBeSkipped)
            guard try !refused.contain(method.typedSecret, terminal) else { continue }
            do {
                return try await open(method)
            } catch let error as VaultError
                where mayAskAgain(after: error, method, terminal)
                || mayAskAgain(afterUncounted: error, method, terminal, attempts: refused.count + 1)
            {
                Spinner.stopAll()
                refused.add(method.typedSecret, error)
                terminal.tell("vault: \(error.description)")
            } catch let error as VaultError where error.meansLocked && method.typedSecret != nil {
                await Proposed.noteLock()
                guard let way = await otherWay() else { throw error }
                throw error.saying("\(error.sentences) \(way)")
            } catch let error as VaultError
                where error.code == .wrongSecret && error.guessesRemaining == 1 && method.typedSecret != nil
                && !password.isGiven && terminal.isInteractive
            {
                let way = await otherWay()
                throw error.saying(
                    "\(error.sentences) \(lastGuessAgain(terminal))" + (way.map { ". \($0)" } ?? ""))
            } catch let error as VaultError
                where error.objection?.code == .empty && method.typedSecret?.bytes.count == 0 && terminal.isInteractive
                && !password.isGiven
            {
                let list = "To see the unlock methods: \(Proposed.command("unlock list"))"
                let way = await otherWay() ?? list
                throw error.saying("\(error.sentences) No guess was used. Type the command again. \(way)")
            }
        }
    }

    /// Whether a person typed a wrong secret, and can type another one without risk.
    func mayAskAgain(after error: VaultError, _ method: UnlockMethod, _ terminal: any Terminal) -> Bool {
        error.code == .wrongSecret && (error.guessesRemaining ?? 0) > 1 && method.typedSecret != nil
            && !password.isGiven && terminal.isInteractive
    }

    /// As ``mayAskAgain(after:_:_:)``, for a password without the network. No key service counts the wrong ones, but the
    /// library makes the person wait after three.
    ///
    /// - Parameter attempts: how many secrets the person typed.
    private func mayAskAgain(
        afterUncounted error: VaultError, _ method: UnlockMethod, _ terminal: any Terminal, attempts: Int
    ) -> Bool {
        error.code == .wrongSecret && error.unlockMethod == .offline && attempts < OfflineGuesses.freeGuesses
            && method.typedSecret != nil && !password.isGiven && terminal.isInteractive
    }

    /// Tells the person what the key service said last, if the next guess may be the last one or of no use.
    func tellState(
        of kind: Keyslot.Kind, in account: Account, _ vault: Vault, _ terminal: any Terminal,
        otherWay: () async -> String?, canBeSkipped: Bool
    ) async throws {
        guard !password.isGiven, terminal.isInteractive, MethodKind.of(kind)?.secretName != nil,
            let slot = try await vault.storage.keyslotSummaries(of: account.id).first(where: { $0.kind == kind })
        else { return }
        let name = kind.displayName
        let otherwise = canBeSkipped ? " To use another unlock method, press Enter." : ""
        if slot.state == .locked {
            let way = canBeSkipped ? nil : await otherWay()
            terminal.tell(
                """
                vault: The \(name) was \(slot.stateInWords ?? "locked"). \
                If somebody has unlocked it since then, type it.\(otherwise)\(way.map { " \($0)" } ?? "")
                """
            )
        } else if slot.guessesRemaining == 1 {
            terminal.tell("vault: \(LastGuess.warning(of: kind))\(otherwise)")
        }
    }
}

/// The secrets that the key service refused since a question began. They are not sent again: a window may be a program
/// that answers by itself, and would spend one guess after the other on the same secret.
struct RefusedSecrets {
    /// The kind of the secrets, for the text.
    let kind: Keyslot.Kind
    private var refused: [SharedSecret] = []
    private var last: VaultError?
    /// How often in a row an answer was among them. A terminal may be a script, too.
    private var repetitions = 0

    init(of kind: Keyslot.Kind) { self.kind = kind }

    /// The number of different secrets.
    var count: Int { refused.count }

    /// - Parameter error: the error for the person.
    mutating func add(_ secret: SharedSecret?, _ error: VaultError) {
        guard let secret else { return }
        refused.append(secret)
        (last, repetitions) = (error, 0)
    }

    /// Whether a secret was refused before. Then tells the person, who can type another one.
    ///
    /// - Throws: the error of the last refusal, if a window gave the same secret again.
    mutating func contain(_ secret: SharedSecret?, _ terminal: any Terminal) throws -> Bool {
        guard let secret, let last, refused.contains(where: { $0.bytes.isEqual(to: secret.bytes) }) else {
            return false
        }
        repetitions += 1
        guard !terminal.mayAnswerByItself, repetitions < 4 else { throw last }
        terminal.tell("vault: This is the same \(kind.displayName) again, so it was not sent.")
        return true
    }
}

extension VaultError {
    /// Whether the key of the unlock method is locked, now or since an earlier guess.
    var meansLocked: Bool { code == .keyLocked || code == .wrongSecret && guessesRemaining == 0 }
}

/// The words before a guess that locks the key if it is wrong.
enum LastGuess {
    static func warning(of kind: Keyslot.Kind) -> String {
        "This is the last guess. Another wrong \(kind.displayName) locks it."
    }
}
