internal import Foundation
internal import VaultLocks
internal import VaultStorage

/// Asks the person before a program uses a session for the first time.
///
/// It helps against a program that asks openly. A program of the same user can pretend to be another one.
package struct ProgramConsent: Sendable {
    private let ask: @Sendable (_ program: String, _ account: String) async -> Bool
    /// The programs of this package. For such a program, the question names its parent process.
    private let own: Set<String>
    private let open = OpenQuestions()

    /// - Parameters:
    ///   - own: the paths of the programs of this package.
    ///   - ask: asks the person, and returns whether the program may continue.
    package init(
        own: Set<String>, ask: @escaping @Sendable (_ program: String, _ account: String) async -> Bool
    ) {
        self.own = own
        self.ask = ask
    }

    func isGiven(to process: Int32, for held: HeldSession) -> Bool { program(of: process).map(held.allows) ?? false }

    /// - Throws: ``VaultError`` with code `cancelled` if the person refuses.
    func require(from process: Int32, for held: HeldSession) async throws {
        let program = program(of: process)
        if let program, held.allows(program) { return }
        let question = Question(program: program, account: held.id)
        // The person is asked once for all requests of a program, and sees one window at a time.
        let answer = open.withLock { open in
            if let answer = open.answers[question] { return answer }
            let (before, ask) = (open.last, ask)
            let answer = Task {
                _ = await before?.value
                return await ask(program ?? "a program that hides its name", held.name)
            }
            (open.answers[question], open.last) = (answer, answer)
            return answer
        }
        let isAllowed = await answer.value
        open.withLock { $0.answers[question] = nil }
        guard isAllowed else {
            throw VaultError(
                .cancelled, "You refused: \(program ?? "the program") may not use the session of \(held.name).")
        }
        // An answer for a program without a readable name would count for all such programs.
        if let program { held.allow(program) }
    }

    private struct Question: Hashable {
        let program: String?
        let account: AccountID
    }

    private final class OpenQuestions: Sendable {
        struct State {
            var answers: [Question: Task<Bool, Never>] = [:]
            var last: Task<Bool, Never>?
        }

        private let state = Lock(State())

        func withLock<R>(_ body: (inout State) -> R) -> R { state.withLock { body(&$0) } }
    }

    /// Returns the path of the asking program; nil if it cannot be found.
    private func program(of process: Int32) -> String? {
        var process = process
        // A program that forbids others to look into it also hides its path, like those of this package. Then its
        // parent process counts.
        while true {
            let path = Self.path(of: process)
            if let path, !own.contains(path) { return path }
            guard let parent = Self.parent(of: process), parent > 1 else { return nil }
            process = parent
        }
    }

    private static func path(of process: Int32) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")
    }

    private static func parent(of process: Int32) -> Int32? {
        guard let stat = FileManager.default.contents(atPath: "/proc/\(process)/stat"),
            // The name of the program, in parentheses, may hold any character.
            let end = stat.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = String(decoding: stat[stat.index(after: end)...], as: UTF8.self).split(separator: " ")
        return fields.count > 1 ? Int32(fields[1]) : nil
    }
}
