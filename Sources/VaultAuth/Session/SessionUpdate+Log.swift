internal import Logging
internal import VaultStorage
internal import VaultUnlock

extension SessionUpdate {
    /// Logs the update at a level that fits.
    func log(to logger: Logger) {
        let level: Logger.Level =
            switch event {
            case .refreshed: .debug
            case .refreshFailed, .wrongGuesses, .keyServiceNotTrusted: .warning
            case .keyNotEnded, .keyslotRemoved: .notice
            default: .info
            }
        var metadata = account.logMetadata
        if let reason { metadata["reason"] = .string(reason.description) }
        if let error { metadata["error"] = .string(error.code.name) }
        if let notice { metadata["unlockMethod"] = .string(notice.keyslot.rawValue) }
        logger.log(level: level, "\(event.description)", metadata: metadata)
    }
}
