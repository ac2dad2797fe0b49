package import FoundationEssentials

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension Date {
    /// The time for a person, in the time zone of the machine or of the variable `TZ`: `2026-11-22 19:14:32 CET`.
    ///
    /// A time that no calendar of the system has becomes "an unknown time".
    package var localText: String {
        guard var seconds = time_t(exactly: timeIntervalSince1970.rounded(.down)) else { return "an unknown time" }
        var parts = tm()
        guard localtime_r(&seconds, &parts) != nil else { return "an unknown time" }
        var buffer = [CChar](repeating: 0, count: 100)
        let count = strftime(&buffer, buffer.count, "%Y-%m-%d %H:%M:%S %Z", &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
