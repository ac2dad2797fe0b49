#if DEBUG || TEST_HOOKS
    internal import Foundation
#endif

/// The places where a crash matters. A build for tests kills itself at the place that `CREDENTIAL_VAULT_FAULT` names, like
/// a power cut. The crash tests then check the store. A release build has no such code.
package enum FaultPoint: String {
    case refreshMarked = "refresh-marked"
    case refreshAnswered = "refresh-answered"
    case refreshCommitted = "refresh-committed"
    case passwordKeyCreated = "password-key-created"
    case passwordStaged = "password-staged"
    case passwordVerified = "password-verified"
    case passwordSwapped = "password-swapped"
    case renewalKeyCreated = "renewal-key-created"
    case renewalStaged = "renewal-staged"
    case renewalVerified = "renewal-verified"
    case renewalSwapped = "renewal-swapped"
    case vaultKeyStaged = "vault-key-staged"
    case vaultKeyVerified = "vault-key-verified"
    case vaultKeyHalfReplaced = "vault-key-half-replaced"
    case vaultKeyReplaced = "vault-key-replaced"
    case keyNoted = "key-noted"
    case keyCreated = "key-created"
    case keyConfirmed = "key-confirmed"
    case guessEvaluated = "guess-evaluated"
    case confirmStored = "confirm-stored"
    case confirmSent = "confirm-sent"
    case keyEnded = "key-ended"
    case keyslotMade = "keyslot-made"
    case keyslotStored = "keyslot-stored"
    case itemSealed = "item-sealed"
    case itemHalfWritten = "item-half-written"
    case itemStored = "item-stored"
    case backupWritten = "backup-written"
    case backupRead = "backup-read"

    package func reach() {
        #if DEBUG || TEST_HOOKS
            if ProcessInfo.processInfo.environment["CREDENTIAL_VAULT_FAULT"] == rawValue { kill(getpid(), SIGKILL) }
        #endif
    }
}
