internal import CredentialVault
internal import Foundation
internal import VaultBase

/// An unlock method as JSON.
struct UnlockMethodReport: Encodable {
    let kind: String
    let label: String?
    let id: String
    let addedAt: Date?
    let lastUsedAt: Date?
    let needsKeyService: Bool?
    /// The version of the key service's protocol; nil if it needs no key service, or is damaged.
    let keyServiceProtocol: Int?
    /// The id by which the operator of the key service finds the key; nil if it needs no key service, or is damaged.
    let keyId: String?
    /// The word of ``KeyslotSummary/State``.
    let state: String
    /// The state of the hardware in words; nil without hardware, or if the command did not look at it.
    let hardware: String?
    /// The guesses that were left at `answeredAt`; nil if the key service has not told a number since the last use.
    let guessesRemaining: Int?
    /// The time of the key service's answer that `state` and `guessesRemaining` come from; nil without one.
    let answeredAt: Date?

    /// - Parameter hardware: the state of the hardware in words; nil if the command did not look.
    init(_ slot: KeyslotSummary, hardware: String?) {
        (kind, label, id) = (slot.kind.rawValue, slot.label, slot.id)
        (addedAt, lastUsedAt) = (slot.createdAt, slot.lastUsedAt)
        needsKeyService = slot.state == .damaged ? nil : !slot.opensOffline
        (keyServiceProtocol, keyId) = (slot.keyServiceProtocol, slot.keyID)
        (state, self.hardware) = (slot.state.name, hardware)
        guessesRemaining = slot.state == .locked ? 0 : slot.guessesRemaining
        answeredAt = slot.answeredAt
    }
}

extension KeyslotSummary {
    /// The state for people; nil if the unlock method may work, and the key service told no guesses that are left. What
    /// the key service said has its time, because its operator may have unlocked the key since then.
    var stateInWords: String? {
        let time = answeredAt.map { ", at \($0.localText)" } ?? ""
        return switch state {
        case .locked: "locked when vault last asked" + time
        case .usable:
            guessesRemaining.map { ($0 == 1 ? "1 guess" : "\($0) guesses") + " left when last tried" + time }
        case .damaged: "damaged, to be removed: \(id)"
        case .revoked: "revoked"
        case .ended: "ended at the key service"
        case .forbidden: "forbidden by the policy"
        default: state.name
        }
    }

    /// The sentence for a person if the key service said that this machine was revoked.
    static let revocation =
        "This machine was revoked, so no unlock method works here any more. The stored items are lost."

    /// What the operator of the key service at `url` types to unlock the key, in words; nil without a key there.
    func operatorsCommand(at url: String) -> String? {
        keyID.map { "the operator of \(url) types: \(Hints.operatorsUnlocking([$0]))" }
    }
}

extension [KeyslotSummary] {
    /// Whether the key service said of all of them that this machine was revoked.
    var areRevoked: Bool { !isEmpty && allSatisfy { $0.state == .revoked } }
}
