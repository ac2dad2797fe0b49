internal import Foundation
internal import KeyServiceClient
internal import VaultCrypto
package import VaultStorage

/// The result of opening a keyslot.
package struct OpenedKeyslot: Sendable {
    package let vaultKey: VaultKey
    /// With protocol version 1, the wrong guesses since the last right one; nil for none.
    var wrongGuesses: WrongGuesses?
    /// With protocol version 2, the message that takes back the guess. It must be stored before the session begins.
    var confirmation: KeyConfirmation?
    var isConfirmationStored = false
    /// The times of open guesses that were not made with this store, by the service's clock. Oldest first.
    var guessesElsewhere: [Date] = []
    /// The time when the key was last unlocked by a sign-in at the provider, by the service's clock; nil for never.
    var ownerUnlockedAt: Date?
    /// A later question about open guesses that were too young to judge; nil if there were none.
    var laterQuestion: LaterQuestion?
    /// The number of wrong guesses until the key locks, if such young guesses take some away; nil if there were none.
    var guessesLeft: Int?
    /// The time of the guess by the service's clock, which the service's answer proves; nil if it does not tell.
    var serviceTime: Date?
    /// The secret that hardware gave: it can make the keyslot again. Nil if a person types the secret.
    var hardwareSecret: SharedSecret?

    init(vaultKey: VaultKey) { self.vaultKey = vaultKey }
}
