internal import ArgumentParser
internal import CredentialVault
internal import Foundation

struct UserInfoCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "userinfo", abstract: "Print the person's current claims from the provider or backend.")

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await unlock.openVault(global)
        let account = try await user.account(in: vault, countsOpen: Output.isTerminal)
        let session = try await unlock.session(
            of: account, in: vault, isReusable: true, needsToken: true, global)
        let info = try await Spinner.during("Asking the identity provider", isQuiet: global.json) {
            try await session.retrying { try await vault.auth.userInfo() }
        }
        let object = (try? JSONSerialization.jsonObject(with: Data(info.claimsJSON))) as? [String: Any] ?? [:]
        if global.json { return Output.raw(Self.text(object)) }
        for name in object.keys.sorted() {
            guard let value = object[name] else { continue }
            Output.line(Printable.text("\(name): \(value as? String ?? Self.text(value, isPretty: false))"))
        }
    }

    private static func text(_ value: Any, isPretty: Bool = true) -> String {
        var options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed]
        if isPretty { options.insert(.prettyPrinted) }
        return (try? JSONSerialization.data(withJSONObject: value, options: options)).map {
            String(decoding: $0, as: UTF8.self)
        } ?? "{}"
    }
}
