internal import Foundation

/// A program, found as a shell finds it.
enum ProgramPath {
    case found(String)
    /// The file exists, but cannot be run.
    case notExecutable
    case missing

    init(_ name: String) {
        guard !name.contains("/") else {
            self = Self.isProgram(name) ? .found(name) : access(name, F_OK) == 0 ? .notExecutable : .missing
            return
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        // An empty entry means the current folder.
        let candidates = path.split(separator: ":", omittingEmptySubsequences: false).map {
            $0.isEmpty ? "./\(name)" : "\($0)/\(name)"
        }
        if name.isEmpty {
            self = .missing
        } else if let program = candidates.first(where: Self.isProgram) {
            self = .found(program)
        } else {
            self = candidates.contains { access($0, F_OK) == 0 } ? .notExecutable : .missing
        }
    }

    /// The path of this program.
    static var own: String {
        get throws { try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") }
    }

    /// The path of a program; nil if it is missing or cannot be run.
    static func of(_ name: String) -> String? {
        if case .found(let path) = ProgramPath(name) { path } else { nil }
    }

    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}
