internal import Foundation
package import VaultCrypto

/// Judges the text of a new secret.
package protocol SecretTextRule {
    /// - Parameter text: the secret's characters in lower case. They must not be gathered in a `String` or an `Array`:
    ///   those leave copies in memory that nobody wipes.
    /// - Returns: nil when it is good enough, or one sentence that says why not.
    func objection(to text: some BidirectionalCollection<Character>) -> String?
}

extension SecretTextRule {
    /// Judges a secret where it is, as long as it is ASCII. Anything else passes through a `String`.
    ///
    /// - Parameter invalid: what to say of bytes that are no text.
    package func objection(toSecret secret: borrowing SecretBytes, invalid: String) -> String? {
        let isASCII = secret.withUnsafeBytes { $0.allSatisfy { $0 < 0x80 } }
        if isASCII {
            return secret.withUnsafeBytes { objection(to: $0.lazy.map { Character(Unicode.Scalar(folded($0))) }) }
        }
        guard let text = secret.utf8String() else { return invalid }
        return objection(to: Array(text.lowercased()))
    }

    private func folded(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}

extension Collection where Element: Equatable {
    /// Whether it is its first `size` elements again and again; the last time may be cut off.
    package func repeats(every size: Int) -> Bool { dropFirst(size).elementsEqual(dropLast(size)) }

    /// Whether it is a part of `whole`.
    package func isPart(of whole: some Collection<Element>) -> Bool {
        var rest = whole[...]
        while rest.count >= count {
            if rest.starts(with: self) { return true }
            if rest.isEmpty { return false }
            rest = rest.dropFirst()
        }
        return false
    }

    /// How many elements are left without each occurrence of `part`.
    package func count(without part: some Collection<Element>) -> Int {
        guard !part.isEmpty else { return count }
        var (rest, left) = (self[...], 0)
        while !rest.isEmpty {
            let isPart = rest.starts(with: part)
            left += isPart ? 0 : 1
            rest = rest.dropFirst(isPart ? part.count : 1)
        }
        return left
    }
}
