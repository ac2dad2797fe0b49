internal import Foundation
internal import VaultDevelopment

/// The environment that makes `vault` use the servers.
struct Environment {
    /// Lines for a POSIX shell.
    let text: String

    init(servers: Servers) {
        var variables = [
            ("CREDENTIAL_VAULT_ISSUER", servers.provider.issuer),
            ("CREDENTIAL_VAULT_CLIENT_ID", servers.provider.clientID),
            ("CREDENTIAL_VAULT_KEY_SERVICE", servers.keyService.baseURL),
        ]
        if let backend = servers.backend { variables.append(("CREDENTIAL_VAULT_DEV_BACKEND", backend.url)) }
        text = variables.map { "export \($0)='\($1.replacing("'", with: #"'\''"#))'\n" }.joined()
    }
}

/// A file with the environment, which exists while the servers run.
struct EnvironmentFile {
    private let path: String
    private let contents: Data

    /// Writes the file as a whole: a program that waits for the file finds it complete.
    init(path: String, _ environment: Environment) throws {
        self.path = path
        contents = Data(environment.text.utf8)
        do {
            try replaceFile(path, with: contents)
        } catch {
            throw VaultDevError("The environment cannot be written to \(path): \(error)")
        }
    }

    /// Removes the file, unless another program has replaced it.
    func remove() {
        guard (try? Data(contentsOf: URL(filePath: path))) == contents else { return }
        try? FileManager.default.removeItem(atPath: path)
    }
}
