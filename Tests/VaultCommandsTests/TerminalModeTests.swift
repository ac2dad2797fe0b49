import Foundation
import Testing

@testable import VaultCommands

/// The mode of the terminal at the end of the program. The end is for good, so there is one test.
@Suite struct TerminalModeTests {
    @Test func `when a signal ends the program, then the echo stays`() throws {
        let terminal = try Terminal()
        _ = try TerminalMode.hideInput(terminal.descriptor)
        #expect(!terminal.echoes)
        #expect(TerminalMode.restore(isEnding: true))
        #expect(terminal.echoes)
        // The thread that asks may go on after Ctrl-Z, at the same time as the signal.
        #expect(throws: TerminalMode.Ending.self) { try TerminalMode.hideInput(terminal.descriptor) }
        #expect(terminal.echoes)
    }

    /// A pseudo terminal.
    private final class Terminal {
        let descriptor: Int32
        private let controller: Int32

        init() throws {
            var (controller, descriptor) = (Int32(-1), Int32(-1))
            try #require(openpty(&controller, &descriptor, nil, nil, nil) == 0)
            (self.controller, self.descriptor) = (controller, descriptor)
        }

        deinit {
            close(descriptor)
            close(controller)
        }

        var echoes: Bool {
            var mode = termios()
            return tcgetattr(descriptor, &mode) == 0 && mode.c_lflag & tcflag_t(ECHO) != 0
        }
    }
}
