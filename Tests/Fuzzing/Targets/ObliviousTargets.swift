@testable import VaultCrypto

extension FuzzTarget {
    /// 32 bytes, which are read as an element, as a key and as a blind. The rest is an input.
    static func obliviousFunction(_ bytes: [UInt8]) {
        let size = RistrettoElement.size
        let head = Array(bytes.prefix(size))
        let element = try? RistrettoElement(head)
        if let element {
            // An element has one encoding. libsodium 1.0.18 ignores the highest bit, and knows the identity.
            precondition(element.bytes == head && head.contains { $0 != 0 })
            precondition((try? RistrettoElement(head.dropLast() + [head[size - 1] | 0x80])) == nil)
        }
        guard head.count == size, let input = try? SecretBytes(copying: Array(bytes.dropFirst(size))),
            let key = try? SecretBytes(copying: head)
        else { return }
        // Any bytes as a key give an element or an error, also with an element that is no blinded input.
        for blinded in [element, try? ObliviousFunction.blind(input).element] {
            guard let blinded, let evaluated = try? ObliviousFunction.evaluate(blinded, key: key) else { continue }
            precondition((try? RistrettoElement(evaluated.bytes)) == evaluated)
        }
        // The result does not depend on the blind. These numbers are below the order of the group and more than one.
        let scalar: [UInt8] = [head[0] | 2] + head[1..<size - 1] + [head[size - 1] & 0x0F]
        let one: [UInt8] = [1] + [UInt8](repeating: 0, count: size - 1)
        let expected = result(input, blind: one, key: scalar, foreign: nil)
        precondition((expected != nil) == (input.count <= Int(UInt16.max)))
        precondition(result(input, blind: scalar, key: scalar, foreign: element) == expected)
    }

    /// Returns the function's result; nil if the input is refused.
    ///
    /// - Parameter foreign: an answer of a false service. It must end in a result or an error.
    private static func result(
        _ input: borrowing SecretBytes, blind: [UInt8], key: [UInt8], foreign: RistrettoElement?
    ) -> [UInt8]? {
        guard let scalar = try? SecretBytes(copying: blind), let key = try? SecretBytes(copying: key),
            let blinding = try? ObliviousFunction.blind(input, with: scalar)
        else { return nil }
        if let foreign { _ = try? ObliviousFunction.finalize(input, blinding, evaluated: foreign).count }
        guard let evaluated = try? ObliviousFunction.evaluate(blinding.element, key: key),
            let result = try? ObliviousFunction.finalize(input, blinding, evaluated: evaluated)
        else { return nil }
        return result.withUnsafeBytes { Array($0) }
    }
}
