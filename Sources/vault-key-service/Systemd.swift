internal import CLinux
internal import Foundation
internal import Logging
internal import VaultBase

/// The messages to systemd, for a unit with `Type=notify`.
enum Systemd {
    enum Message: String {
        /// The service accepts connections. Until then, `systemctl start` waits.
        case ready = "READY=1"
        /// The service begins to end.
        case stopping = "STOPPING=1"
    }

    /// Sends a message. Without systemd, this does nothing.
    static func tell(_ message: Message, _ logger: Logger) {
        guard let address = ProcessInfo.processInfo.environment["NOTIFY_SOCKET"], !address.isEmpty else { return }
        guard linux_notify(address, message.rawValue) != 0 else { return }
        let reason = SystemError.words(errno)
        logger.warning("systemd did not get the message \(message.rawValue): \(reason)")
    }
}
