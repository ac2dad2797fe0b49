internal import VaultBase
internal import VaultStorage

/// Asks the person before a process uses a session for the first time. Another process of the same program is another
/// script, perhaps: it causes another question.
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

    func isGiven(to process: Int32, for held: HeldSession) -> Bool {
        AskingProcess(process, own: own).map(held.allows) ?? false
    }

    /// - Throws: ``VaultError`` with code `cancelled` if the person refuses.
    func require(from process: Int32, for held: HeldSession) async throws {
        let asking = AskingProcess(process, own: own)
        if let asking, held.allows(asking) { return }
        let program = asking?.program
        let question = Question(process: asking, account: held.id)
        // The person is asked once for all requests of a process, and sees one window at a time.
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
        if let asking { held.allow(asking) }
    }

    private struct Question: Hashable {
        let process: AskingProcess?
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
}
