internal import CredentialVault
internal import VaultBase

/// A window in place of a terminal.
final class PinentryTerminal: Terminal {
    private static let title = "Credential Vault"

    private let pinentry: Pinentry
    /// The remarks for the next window.
    private let remarks = Lock<[String]>([])

    init(_ pinentry: Pinentry) {
        self.pinentry = pinentry
    }

    var isInteractive: Bool { true }

    /// False, because the only field of a window hides the text.
    var asksForText: Bool { false }
    var mayAnswerByItself: Bool { true }

    func askHidden(_ prompt: String) async throws -> SecretBytes {
        let question = Self.words(of: prompt)
        let remark = takeRemarks()
        return try await pinentry.secret(
            title: Self.title, description: question, prompt: Self.label(of: question), remark: remark)
    }

    func ask(_ prompt: String) async throws -> String {
        throw VaultError(
            .configurationInvalid, "There is no terminal to ask for this: \(Self.words(of: prompt)). Use an option.")
    }

    func confirm(_ question: String) async throws -> Bool {
        let description = [takeRemarks(), question].compactMap(\.self).joined(separator: "\n\n")
        return try await pinentry.confirm(title: Self.title, description: description)
    }

    func tell(_ remark: String) {
        // Standard error may be a log that somebody reads later.
        Output.note(remark)
        remarks.withLock { $0.append(remark.hasPrefix("vault: ") ? String(remark.dropFirst(7)) : remark) }
    }

    private func takeRemarks() -> String? {
        let all = remarks.withLock { remarks in
            defer { remarks = [] }
            return remarks
        }
        return all.isEmpty ? nil : all.joined(separator: "\n")
    }

    /// The prompt without its last colon.
    private static func words(of prompt: String) -> String {
        prompt.hasSuffix(": ") ? String(prompt.dropLast(2)) : prompt
    }

    /// A short label beside the field.
    private static func label(of question: String) -> String {
        if question.hasPrefix("Code for ") { return "Code:" }
        if question.contains("PIN") { return "PIN:" }
        return question.lowercased().contains("recovery code") ? "Recovery code:" : "Password:"
    }
}
