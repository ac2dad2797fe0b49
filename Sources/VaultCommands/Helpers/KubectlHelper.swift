internal import ArgumentParser
internal import CredentialVault
internal import Foundation

/// A credential plugin of kubectl and other clients of Kubernetes (client.authentication.k8s.io/v1).
struct KubectlHelper: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "kubectl",
        abstract: "Answer kubectl's question for a token.",
        discussion: """
            kubectl runs this. To set it up:

              vault helper install kubectl --user alice

            With --host, vault gives the token only to these API servers. kubectl must then tell vault the server: \
            provideClusterInfo: true. "vault helper install" sets that.
            """)

    @OptionGroup var host: HostOption
    @OptionGroup var account: HelperAccount

    var global: GlobalOptions { account.global }

    func run() async throws {
        let request = try ExecRequest(ProcessInfo.processInfo.environment[ExecRequest.variable])
        if !host.hosts.isEmpty {
            guard let server = request.server else {
                throw VaultError(
                    .configurationInvalid,
                    "kubectl does not say which server gets the token. Set provideClusterInfo: true in its configuration, or run again: vault helper install kubectl --host HOST"
                )
            }
            guard HelperHost(url: server).map(host.hosts.contains) ?? false else {
                throw VaultError(
                    .configurationInvalid,
                    "The token is not for \(Printable.text(server)), but for \(host.hosts.map(\.authority).listed("and"))."
                )
            }
        }
        let token = try await account.token(for: .kubectl, mayAsk: request.isInteractive)
        try HelperJSON.write(
            ExecAnswer(
                apiVersion: request.apiVersion,
                status: .init(token: try token.text, expirationTimestamp: token.expiresAt)))
    }
}

/// `KUBERNETES_EXEC_INFO`: what kubectl tells its plugin.
struct ExecRequest {
    static let variable = "KUBERNETES_EXEC_INFO"
    /// The fields that this helper uses are the same in both.
    private static let versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]

    private struct Content: Decodable {
        struct Spec: Decodable {
            struct Cluster: Decodable { var server: String? }
            var cluster: Cluster?
            var interactive: Bool?
        }
        let apiVersion: String
        let kind: String
        var spec: Spec?
    }

    let apiVersion: String
    /// Whether a person may be asked at the terminal.
    let isInteractive: Bool
    /// The address of the API server, if kubectl tells it.
    let server: String?

    /// - Parameter text: nil when somebody runs the helper by hand.
    init(_ text: String?) throws {
        guard let text else {
            (apiVersion, isInteractive, server) = (Self.versions[0], true, nil)
            return
        }
        guard let content = try? JSONDecoder().decode(Content.self, from: Data(text.utf8)),
            content.kind == "ExecCredential"
        else { throw VaultError(.configurationInvalid, "\(Self.variable) is not an ExecCredential.") }
        guard Self.versions.contains(content.apiVersion) else {
            throw VaultError(
                .configurationInvalid,
                "kubectl wants \(Printable.text(content.apiVersion)). Set apiVersion: \(Self.versions[0]) in its configuration."
            )
        }
        (apiVersion, server) = (content.apiVersion, content.spec?.cluster?.server)
        isInteractive = content.spec?.interactive ?? false
    }
}

private struct ExecAnswer: Encodable {
    struct Status: Encodable {
        let token: String
        let expirationTimestamp: Date?
    }

    let apiVersion: String
    var kind = "ExecCredential"
    let status: Status
}
