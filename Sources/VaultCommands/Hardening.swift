internal import CLinux
internal import Foundation

/// Keeps what this process knows from leaving it by a core dump or another process of the same user.
enum Hardening {
    static func apply() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = linux_forbid_dumps()
        // A reader that went away is noticed by the failing write.
        signal(SIGPIPE, SIG_IGN)
    }
}
