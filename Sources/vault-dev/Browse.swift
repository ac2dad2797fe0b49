internal import ArgumentParser
internal import Foundation
internal import VaultDevelopment

/// Plays the person at the login page, for scripts. It takes a URL as its last argument, as programs named in
/// `$BROWSER` do.
struct Browse: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Log in at a URL as a person would, and print the title of the last page.")

    @Argument(help: "The authorization URL, or the URL that a device shows.")
    var url: String

    @Option(help: "The user who logs in.")
    var user = "alice"

    @Option(
        help: ArgumentHelp(
            "The file with the password, or - for stdin. Not needed for alice and bob.", valueName: "path"))
    var passwordFile: String?

    @Option(help: ArgumentHelp("The code that a device shows, if the URL does not have it.", valueName: "code"))
    var userCode: String?

    @Flag(help: "Press \"Deny\" instead.")
    var deny = false

    func run() async throws {
        let browser = ScriptedBrowser(username: user, password: try password(), choice: deny ? .deny : .logIn)
        let page = try await browser.visit(url, userCode: userCode)
        try writeToStandardOutput("\(page.title)\n")
        guard page.status < 400 || deny else { throw VaultDevError("The app's page has the status \(page.status).") }
    }

    private func password() throws -> String {
        guard let passwordFile else {
            let known: [DevelopmentIdentityProvider.User] = [.alice, .bob]
            guard let user = known.first(where: { $0.username == user }) else {
                throw ValidationError("The password of \(user) is needed: use --password-file.")
            }
            return user.password
        }
        do {
            let file =
                passwordFile == "-"
                ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(filePath: passwordFile))
            let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
            return text.hasSuffix("\n") ? String(text.dropLast()) : text
        } catch {
            throw VaultDevError("The password cannot be read from \(passwordFile).")
        }
    }
}
