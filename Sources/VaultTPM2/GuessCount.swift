#if TPM2
    internal import CTPM2
    internal import VaultBiometric

    /// How the TPM counts wrong PINs. It keeps one count for all that it protects, so the tries of other programs count
    /// here, too. Only time takes one back, not a right PIN, and a machine that loses its power may cost one.
    struct GuessCount: Sendable {
        /// Wrong ones that are counted now.
        let failures: Int
        /// How many wrong ones there may be.
        let maximum: Int
        /// After how long the TPM takes back one wrong try.
        let recovery: Duration
        /// Whether it takes no PIN now.
        let isLocked: Bool
        /// Whether it takes a password to start the count anew. Everybody who can send it a command can do so otherwise.
        let hasLockoutPassword: Bool

        var triesLeft: Int { isLocked ? 0 : max(0, maximum - failures) }

        /// How many wrong PINs are too many for one day. At this many, half of all PINs of six digits take a year and a
        /// third to try; what TPMs come with is 40 to 180.
        private static let tooManyADay: Int64 = 1000

        /// Whether guessing is limited at all. A TPM whose recovery takes next to no time, or that has no maximum worth
        /// the name, was set up not to.
        var isEffective: Bool {
            let seconds = recovery.components.seconds
            return seconds > 0 && Int64(maximum) + 86_400 / seconds <= Self.tooManyADay
        }

        /// What the count is worth against somebody who has the machine.
        var limit: GuessLimit {
            guard isEffective else {
                return .absent(
                    "The TPM is set up not to limit guessing, so a PIN would protect nothing. Its owner can change that "
                        + "(tpm2_dictionarylockout --setup-parameters).")
            }
            guard hasLockoutPassword else {
                return .weak(
                    "The TPM has no lockout password: whoever has this machine can set its count of wrong PINs back, and "
                        + "guess without end. Set one, and keep it elsewhere: tpm2_changeauth -c lockout PASSWORD")
            }
            return .firm
        }

        /// What to tell when the TPM takes no PIN. It does not tell when it counted last, so this is the longest that
        /// the next try can be away.
        ///
        /// - Parameter start: what happened, if something did.
        func lockedOut(_ start: String = "") -> BiometricError {
            BiometricError(
                .lockedOut,
                start
                    + "The TPM takes no PIN after too many wrong ones. It takes one more in \(recovery.inWords) at the "
                    + "latest, as long as the machine is on.",
                endsAfter: recovery)
        }
    }

    extension TPMConnection {
        /// Asks the TPM how it stands with wrong PINs.
        func guessCount() throws -> GuessCount {
            let properties = try properties(from: .permanent, count: 32)
            guard let failures = properties[.lockoutCounter], let maximum = properties[.maximumFailures],
                let recovery = properties[.lockoutInterval], let flags = properties[.permanent]
            else { throw BiometricError(.unavailable, "The TPM does not tell how it limits guessing.") }
            return GuessCount(
                failures: Int(failures), maximum: Int(maximum), recovery: .seconds(Int64(recovery)),
                isLocked: flags & TPMA_PERMANENT_INLOCKOUT != 0 || failures >= maximum,
                hasLockoutPassword: flags & TPMA_PERMANENT_LOCKOUTAUTHSET != 0)
        }

        /// What the maker calls the TPM.
        func model() throws -> String {
            let properties = try properties(from: .manufacturer, count: 5)
            func letters(_ property: TPMProperty) -> String {
                let bytes = withUnsafeBytes(of: (properties[property] ?? 0).bigEndian) { Array($0) }
                return String(decoding: bytes.filter { (0x20..<0x7F).contains($0) }, as: UTF8.self)
            }
            // The strings of the vendor are pieces of one, cut every four letters.
            let vendor = [.vendor1, .vendor2, .vendor3, .vendor4].map(letters).joined()
            let words = "\(letters(.manufacturer)) \(vendor)".split(separator: " ")
            return words.isEmpty ? "TPM 2.0" : "TPM 2.0 (\(words.joined(separator: " ")))"
        }

        private func properties(from first: TPMProperty, count: UInt32) throws -> [TPMProperty: UInt32] {
            var more: TPMI_YES_NO = 0
            var pointer: UnsafeMutablePointer<TPMS_CAPABILITY_DATA>?
            try send(.readingProperties) {
                Esys_GetCapability(
                    $0, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, TPM2_CAP_TPM_PROPERTIES, first.rawValue, count, &more,
                    &pointer)
            }
            let answer = try Allocated(pointer, of: .readingProperties)
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

    /// What a TPM tells about itself: TPM 2.0 Library, part 2, section "TPM_PT".
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
