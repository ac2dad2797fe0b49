package import VaultCrypto

package protocol SecretTextRule {
    /// The reason why a text is not good enough.
    associatedtype Objection

    /// - Parameter text: the secret's characters in lower case. Do not copy them into a `String` or an `Array`, which
    ///   nobody wipes.
    /// - Returns: nil if the text is good enough, else the reason.
    func objection(to text: some BidirectionalCollection<Character>) -> Objection?
}

extension SecretTextRule {
    /// Judges an ASCII secret in place. Any other text passes through a `String`.
    ///
    /// - Parameter invalid: the objection to bytes that are not text.
    package func objection(toSecret secret: borrowing SecretBytes, invalid: Objection) -> Objection? {
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
    /// Whether it repeats its first `size` elements. The last repetition may be cut off.
    package func repeats(every size: Int) -> Bool { dropFirst(size).elementsEqual(dropLast(size)) }

    package func isPart(of whole: some Collection<Element>) -> Bool {
        var rest = whole[...]
        while rest.count >= count {
            if rest.starts(with: self) { return true }
            if rest.isEmpty { return false }
            rest = rest.dropFirst()
        }
        return false
    }

    /// Returns the number of elements outside all occurrences of `part`.
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
