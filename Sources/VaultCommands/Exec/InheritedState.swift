internal import CLinux
internal import Foundation
internal import VaultBase

/// The state that this process inherited, and changes for itself. A program that it starts, or that replaces it, gets
/// the inherited state.
struct InheritedState: Sendable {
    /// All signals of Linux.
    private static let signals: ClosedRange<Int32> = 1...64
    private static let all = Lock<InheritedState?>(nil)

    private let ignoredSignals: [Int32]
    private var blockedSignals = sigset_t()
    private var coreLimit = rlimit()
    private let files: Set<Int32>
    /// Pointers to `NAME=value`. They stay valid, because nothing frees the environment that a process starts with.
    private let variables: [UInt]

    /// Remembers the state. Call this before any change, and before a second thread exists.
    static func save() {
        let state = InheritedState()
        all.withLock { $0 = state }
    }

    /// The remembered state.
    static var saved: InheritedState { all.withLock { $0 } ?? InheritedState() }

    private init() {
        ignoredSignals = Self.signals.filter { linux_ignores_signal($0) != 0 }
        pthread_sigmask(SIG_BLOCK, nil, &blockedSignals)
        getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &coreLimit)
        files = Set(Self.openFiles)
        var variables: [UInt] = []
        var next = linux_environment()
        while let variable = next?.pointee {
            variables.append(UInt(bitPattern: variable))
            next = next?.successor()
        }
        self.variables = variables
    }

    /// The environment, as execve(2) takes it, byte for byte.
    ///
    /// - Parameter names: the variables to leave out.
    func environment(without names: Set<String> = []) -> [UnsafeMutablePointer<CChar>?] {
        variables.compactMap { UnsafeMutablePointer<CChar>(bitPattern: $0) }.filter { variable in
            !names.contains { name in
                strncmp(variable, name, name.utf8.count) == 0 && variable[name.utf8.count] == CChar(UInt8(ascii: "="))
            }
        }
    }

    /// The signals that have their default effect in a started program.
    var defaultSignals: sigset_t {
        var signals = sigset_t()
        sigfillset(&signals)
        for number in ignoredSignals { sigdelset(&signals, number) }
        return signals
    }

    /// The signals that are blocked in a started program.
    var mask: sigset_t { blockedSignals }

    /// Hides files and connections that this program opened from programs that it starts. Some libraries leave them
    /// open.
    func hideFiles() {
        for file in Self.openFiles where !files.contains(file) { _ = fcntl(file, F_SETFD, FD_CLOEXEC) }
    }

    private static var openFiles: [Int32] {
        guard let folder = opendir("/proc/thread-self/fd") else { return [] }
        defer { closedir(folder) }
        var files: [Int32] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let file = Int32(name), file != dirfd(folder) { files.append(file) }
        }
        return files
    }

    /// Restores the process and the calling thread. Call this right before another program replaces this process.
    func restore() {
        hideFiles()
        var limit = coreLimit
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        for number in Self.signals { signal(number, ignoredSignals.contains(number) ? SIG_IGN : SIG_DFL) }
        // Dispatch blocks signals in its threads.
        var mask = blockedSignals
        pthread_sigmask(SIG_SETMASK, &mask, nil)
    }
}
