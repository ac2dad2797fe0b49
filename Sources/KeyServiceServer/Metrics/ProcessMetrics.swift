internal import Foundation

/// The usual Prometheus metrics of a process.
enum ProcessMetrics {
    static let all: [@Sendable () -> PrometheusReading?] = [
        { residentMemory.map { PrometheusReading(name: "process_resident_memory_bytes", value: $0) } },
        { startTime.map { PrometheusReading(name: "process_start_time_seconds", value: $0) } },
    ]

    private static var residentMemory: Double? {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        guard let fields, fields.count > 1, let pages = Double(fields[1]) else { return nil }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The start of the process, in seconds since 1970. The system gives it in ticks since its own start.
    private static let startTime: Double? = {
        // The name of the program stands in brackets, and may have spaces.
        guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let bracket = stat.lastIndex(of: ")"),
            let system = try? String(contentsOfFile: "/proc/stat", encoding: .utf8),
            let boot = system.split(separator: "\n").first(where: { $0.hasPrefix("btime ") })?.split(separator: " ")
                .last
        else { return nil }
        let fields = stat[bracket...].split(separator: " ")
        guard fields.count > 20, let ticks = Double(fields[20]), let start = Double(boot) else { return nil }
        return start + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }()
}
