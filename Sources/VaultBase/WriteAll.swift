#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Writes all bytes to a blocking descriptor. Stops at the first error.
///
/// - Returns: the error number; nil if everything was written.
package func writeAll(_ bytes: some Collection<UInt8>, to descriptor: Int32) -> Int32? {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count < 0 && errno == EINTR { continue }
        guard count != 0 else { return EIO }
        guard count > 0 else { return errno }
        rest = rest.dropFirst(count)
    }
    return nil
}
