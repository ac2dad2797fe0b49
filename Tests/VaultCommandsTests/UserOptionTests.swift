import Testing

@testable import VaultCommands

/// The option that names an account in a proposed command.
struct UserOptionTests {
    @Test(arguments: [
        ("alice", "--user alice"), ("it's", #"--user 'it'\''s'"#), ("-x", "--user=-x"), ("-a b", "--user='-a b'"),
    ])
    func `when a name begins with a hyphen, then the option still parses`(_ name: String, _ option: String) {
        #expect(ShellQuoting.userOption(name) == option)
    }
}
