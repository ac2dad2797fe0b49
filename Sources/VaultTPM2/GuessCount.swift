#if TPM2
    internal import CTPM2
    internal import VaultBiometric

    /// The TPM's count of wrong PINs. The TPM has one count for all secrets, so other programs' guesses count, too.
    /// Only time takes a guess back, not a right PIN. A power failure may cost one.
    struct GuessCount: Sendable {
        /// The wrong PINs in the count now.
        let failures: Int
        /// The limit of wrong PINs.
        let maximum: Int
        /// The time after which the TPM takes back one wrong guess.
        let recovery: Duration
        /// Whether the TPM accepts no PIN now.
        let isLocked: Bool
        /// Whether a reset of the count needs a password. Without one, every program that can send a command can reset
        /// it.
        let hasLockoutPassword: Bool

        var guessesLeft: Int { isLocked ? 0 : max(0, maximum - failures) }

        /// The most wrong PINs a day for an effective limit. At 1000, a thief needs a year and a third for half of all
        /// PINs of six digits. The defaults of TPMs are 40 to 180.
        private static let tooManyADay: Int64 = 1000

        /// Whether the TPM limits guesses at all. A TPM with a very short recovery or a very high maximum does not.
        var isEffective: Bool {
            let seconds = recovery.components.seconds
            return seconds > 0 && Int64(maximum) + 86_400 / seconds <= Self.tooManyADay
        }

        /// The protection by the count against a thief with the machine.
        var limit: GuessLimit {
            guard isEffective else {
                return .absent(
                    "The TPM does not limit guesses, so a PIN would protect nothing. The TPM's owner can set "
                        + "limits.")
            }
            guard hasLockoutPassword else {
                return .weak(
                    "The TPM has no lockout password, so a thief with the machine can reset its PIN count, and guess "
                        + "without end. Set a password, and keep it elsewhere.")
            }
            return .firm
        }

        /// Returns the error for a TPM that accepts no PIN. The TPM does not tell the time of its last count, so the
        /// text names the longest wait.
        ///
        /// - Parameter start: a sentence about the event before, if there was one.
        func lockedOut(_ start: String = "") -> BiometricError {
            BiometricError(
                .lockedOut,
                start
                    + "The TPM accepts no PIN after too many wrong ones. Try again in \(recovery.inWords) at the "
                    + "latest. Leave the machine on until then.",
                endsAfter: recovery)
        }
    }

    extension TPMConnection {
        /// Asks the TPM for its count of wrong PINs.
        func guessCount() throws -> GuessCount {
            let properties = try properties(from: .permanent, count: 32)
            guard let failures = properties[.lockoutCounter], let maximum = properties[.maximumFailures],
                let recovery = properties[.lockoutInterval], let flags = properties[.permanent]
            else { throw BiometricError(.unavailable, "The TPM does not tell how it limits guesses.") }
            return GuessCount(
                failures: Int(failures), maximum: Int(maximum), recovery: .seconds(Int64(recovery)),
                isLocked: flags & TPMA_PERMANENT_INLOCKOUT != 0 || failures >= maximum,
                hasLockoutPassword: flags & TPMA_PERMANENT_LOCKOUTAUTHSET != 0)
        }

        /// Returns the maker's name for the TPM.
        func model() throws -> String {
            let properties = try properties(from: .manufacturer, count: 5)
            func letters(_ property: TPMProperty) -> String {
                let bytes = withUnsafeBytes(of: (properties[property] ?? 0).bigEndian) { Array($0) }
                return String(decoding: bytes.filter { (0x20..<0x7F).contains($0) }, as: UTF8.self)
            }
            // The vendor's strings are one text, cut into pieces of four letters.
            let vendor = [.vendor1, .vendor2, .vendor3, .vendor4].map(letters).joined()
            let words = "\(letters(.manufacturer)) \(vendor)".split(separator: " ")
            return words.isEmpty ? "TPM 2.0" : "TPM 2.0 (\(words.joined(separator: " ")))"
        }

        private func properties(from first: TPMProperty, count: UInt32) throws -> [TPMProperty: UInt32] {
            var more: TPMI_YES_NO = 0
            var pointer: UnsafeMutablePointer<TPMS_CAPABILITY_DATA>?
            try send(.readingProperties) {
                tss2.Esys_GetCapability(
                    $0, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, TPM2_CAP_TPM_PROPERTIES, first.rawValue, count, &more,
                    &pointer)
            }
            let answer = try Allocated(pointer, of: .readingProperties, tss2)
            let list = answer.pointer.pointee.data.tpmProperties
            var properties: [TPMProperty: UInt32] = [:]
            withUnsafeBytes(of: list.tpmProperty) {
                for tagged in $0.bindMemory(to: TPMS_TAGGED_PROPERTY.self).prefix(Int(list.count)) {
                    if let property = TPMProperty(rawValue: tagged.property) { properties[property] = tagged.value }
                }
            }
            return properties
        }
    }

    /// The properties of a TPM: TPM 2.0 Library, part 2, section "TPM_PT".
    private enum TPMProperty: UInt32 {
        case manufacturer = 0x105
        case vendor1 = 0x106
        case vendor2 = 0x107
        case vendor3 = 0x108
        case vendor4 = 0x109
        case permanent = 0x200
        case lockoutCounter = 0x20E
        case maximumFailures = 0x20F
        case lockoutInterval = 0x210
    }
#endif
