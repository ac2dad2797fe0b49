internal import CLinux
internal import Glibc

/// The process at the other end of a local socket (`SO_PEERCRED`).
package struct PeerCredentials: Sendable {
    package let user: UInt32
    /// The process that connected. It may have ended, and another process may have its number.
    package let process: Int32

    /// - Returns: nil if the system does not say.
    package init?(of descriptor: Int32) {
        var (user, process): (uid_t, pid_t) = (0, 0)
        guard linux_peer(descriptor, &user, &process) == 0 else { return nil }
        (self.user, self.process) = (user, process)
    }
}
