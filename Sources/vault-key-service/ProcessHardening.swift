internal import CProcess
internal import Foundation

/// Keeps the memory of this process, with the master key in it, away from core dumps and debuggers.
enum ProcessHardening {
    /// Best effort: a system that forbids it is no reason not to start.
    static func apply() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = process_set_not_dumpable()
    }
}
