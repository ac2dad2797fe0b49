import Glibc

/// The program with all commands: `vault-command`, in the same folder as this program.
enum FullCommand {
    static let name = "vault-command"

    /// Replaces this process with that program. Exits with an error if the program cannot be run.
    static func takeOver() -> Never {
        let path = folder + "/" + name
        execv(path, CommandLine.unsafeArgv)
        let text = "vault: \(path) cannot be run (error \(errno)). Copy vault-command into the folder of vault.\n"
        _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
        exit(1)
    }

    private static var folder: String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}
