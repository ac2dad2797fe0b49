package import Glibc

/// The path of the agent's socket.
package enum AgentSocket {
    /// The longest path in the address of a socket, in bytes.
    package static let longestPath = 107

    /// Returns the socket of the agent for one folder of accounts: `$XDG_RUNTIME_DIR/credential-vault/agent-….sock`.
    ///
    /// - Parameters:
    ///   - runtimeFolder: `XDG_RUNTIME_DIR`.
    /// - Returns: nil without a runtime folder, for a folder that is not absolute, or for a path that is too long.
    package static func path(runtimeFolder: String?, accountsFolder: String) -> String? {
        let slash = UInt8(ascii: "/")
        guard let runtimeFolder, runtimeFolder.utf8.first == slash, accountsFolder.utf8.first == slash else {
            return nil
        }
        let path = runtimeFolder + "/credential-vault/agent-" + hash(canonical(accountsFolder)) + ".sock"
        return path.utf8.count <= longestPath ? path : nil
    }

    /// Returns the default folder of the accounts: `$XDG_DATA_HOME/credential-vault`, or
    /// `~/.local/share/credential-vault`.
    ///
    /// - Returns: nil if neither variable has an absolute path.
    package static func usualFolder(dataHome: String?, home: String?) -> String? {
        let slash = UInt8(ascii: "/")
        if let dataHome, dataHome.utf8.first == slash { return dataHome + "/credential-vault" }
        guard let home, home.utf8.first == slash else { return nil }
        return home + "/.local/share/credential-vault"
    }

    /// The folder without links and extra slashes: every spelling of it has to lead to the same agent.
    private static func canonical(_ folder: String) -> String {
        var (existing, missing) = (folder, "")
        while true {
            while existing.utf8.count > 1, existing.utf8.last == UInt8(ascii: "/") { existing.removeLast() }
            if let resolved = realpath(existing, nil) {
                defer { free(resolved) }
                return String(cString: resolved) + missing
            }
            guard let slash = existing.lastIndex(of: "/"), slash > existing.startIndex else { return folder }
            missing = existing[slash...] + missing
            existing = String(existing[..<slash])
        }
    }

    /// FNV-1a. It only has to give each folder a name, so it need not be a strong hash.
    private static func hash(_ text: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    package static func withAddress<R>(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
    ) -> R? {
        guard path.utf8.count <= longestPath else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
