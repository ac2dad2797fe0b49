internal import ArgumentParser
internal import CredentialVault
internal import Foundation

struct BackendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backend",
        abstract: "Sign up at a backend, reset a password there, and list its sessions.",
        discussion: """
            The backend file must name the paths of these calls. See the setting backend-file in "vault config --help".
            """,
        subcommands: [SignUp.self, ForgotPassword.self, Sessions.self])

    struct SignUp: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "sign-up", abstract: "Create an account at the backend.",
            discussion: """
                The password is for the backend, not for the vault. To give it without a terminal, use \
                --login-password-file or --login-password-fd. Then add the account to the vault:

                  vault register --method password
                """)

        @OptionGroup var credentials: CredentialOptions
        @Option(help: ArgumentHelp("Your full name, if the backend asks for one.", valueName: "text"))
        var name: String?
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let (people, layout, url) = try await BackendCommand.people(global)
            let terminal = try await Asking.terminal()
            let question = CredentialQuestion(credentials, terminal, nameOfUsername: "E-mail address")
            try question.requirePossible()
            let typed = try await question.newCredentials(at: url, layout: layout)
            try await Spinner.during("Signing up", isQuiet: global.json) {
                try await people.signUp(typed, name: name)
            }
            if global.json { return Output.json(["email": typed.username]) }
            let user = ShellQuoting.quoted(typed.username)
            Output.line("Signed up \(Printable.text(typed.username)) at \(Printable.text(url)).")
            Output.note(
                "If the backend sends an e-mail, open its link first. Then: vault register --method password --username \(user)"
            )
        }
    }

    struct ForgotPassword: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "forgot-password", abstract: "Ask the backend for an e-mail to choose a new password.")

        @Option(help: ArgumentHelp("The e-mail address at the backend.", valueName: "name"))
        var username: String?
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let (people, _, url) = try await BackendCommand.people(global)
            var email = username ?? ""
            while email.isEmpty {
                email = try await Asking.terminal().ask("E-mail address at \(Printable.text(url)): ")
                    .trimmingCharacters(in: .whitespaces)
            }
            try await Spinner.during("Asking the backend", isQuiet: global.json) { [email] in
                try await people.requestNewPassword(email: email)
            }
            if global.json { return Output.json(["email": email]) }
            Output.line("Asked \(Printable.text(url)) to let \(Printable.text(email)) choose a new password.")
            Output.note("If the backend knows this address, it sends an e-mail.")
        }
    }

    /// The backend of the settings, its layout and its address.
    private static func people(
        _ global: GlobalOptions
    ) async throws -> (BackendPeople, BackendLayout.Password, url: String) {
        let settings = try await Settings(global)
        let configuration = try settings.configuration()
        if let problem = configuration.backendProblem { throw problem }
        guard let url = configuration.issuer else {
            throw VaultError(
                .configurationInvalid,
                "The address of the backend is not set. Use --issuer URL, or: vault config set issuer URL")
        }
        let people = try BackendPeople(
            url, layout: configuration.backend.password, transport: try settings.transport())
        return (people, configuration.backend.password, url)
    }
}
