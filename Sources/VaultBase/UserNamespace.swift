#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The user namespace of this process (user_namespaces(7)).
package enum UserNamespace {
    /// Whether each user of the machine has the same number in this namespace as outside of it. A user who makes a
    /// namespace can be root there.
    package static var hasAllUsers: Bool {
        let descriptor = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // A map of all users has one line.
        var line = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &line, line.count)
        guard count > 0 else { return false }
        let map = String(decoding: line[..<count], as: UTF8.self)
        return map.split(whereSeparator: \.isWhitespace) == ["0", "0", "4294967295"]
    }
}
