import Testing

@testable import VaultCommands

/// The command that a person sends to the operator of the key service.
struct OperatorsCommandTests {
    @Test func `when an id has signs for the shell, then the command quotes them`() {
        let command = Hints.operatorsUnlocking(["$(reboot)\u{1B}[2J", "5b39a3a4-5971-40f1-a1ed-7d99efbe2e06"])
        let expected =
            "vault-key-service keys unlock '$(reboot)?[2J' && "
            + "vault-key-service keys unlock 5b39a3a4-5971-40f1-a1ed-7d99efbe2e06 "
        #expect(command.hasPrefix(expected))
    }
}
