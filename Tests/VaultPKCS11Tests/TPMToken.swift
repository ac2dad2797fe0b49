#if PKCS11
    import Foundation
    import TestSupport
    import Testing

    @testable import VaultPKCS11

    /// A token that tpm2-pkcs11 makes of a software TPM. It counts wrong PINs and stops at three.
    final class TPMToken {
        static let pin = "1234"
        let server: TokenServer
        private let tpm: pid_t
        private let tcti: String

        var provider: PKCS11Provider { PKCS11Provider(server.uri) }

        init(hasKey: Bool = true) throws {
            let folder = try TokenServer.newFolder()
            for name in ["state", "store"] {
                try FileManager.default.createDirectory(
                    at: folder.appending(path: name), withIntermediateDirectories: true)
            }
            let (port, tpm) = try Self.startTPM(folder)
            self.tpm = tpm
            tcti = "swtpm:host=127.0.0.1,port=\(port)"
            server = try TokenServer(
                library: "libtpm2_pkcs11.so",
                environment: [
                    "TPM2_PKCS11_TCTI": tcti, "TPM2_PKCS11_STORE": folder.appending(path: "store").path,
                    "TPM2_PKCS11_LOG_LEVEL": "0",
                ], folder: folder)
            try setLimit(recovery: 7200)
            try initialize("tpm", slot: 0, hasKey: hasKey)
            try server.plugIn()
        }

        deinit { kill(tpm, SIGKILL) }

        /// Makes a token. All tokens of one TPM have the same serial number.
        func initialize(_ label: String, slot: Int, hasKey: Bool = true) throws {
            try server.tool("--slot-index", "\(slot)", "--init-token", "--label", label, "--so-pin", "owner")
            try server.tool(
                "--token-label", label, "--login", "--login-type", "so", "--so-pin", "owner", "--init-pin", "--new-pin",
                Self.pin)
            guard hasKey else { return }
            try server.tool(
                "--token-label", label, "--login", "--pin", Self.pin, "--keypairgen", "--key-type", "rsa:2048", "--id",
                "01", "--usage-decrypt")
        }

        /// The TPM listens when the command returns, and runs on in the background. Another program may take the ports
        /// first.
        private static func startTPM(_ folder: URL) throws -> (port: Int, process: pid_t) {
            let file = folder.appending(path: "pid")
            for _ in 0..<20 {
                // Below the system's port range for outgoing connections.
                let port = Int.random(in: 10_000..<32_000)
                let status = try Program([
                    "swtpm", "socket", "--tpm2", "--tpmstate", "dir=\(folder.path)/state",
                    "--server", "type=tcp,bindaddr=127.0.0.1,port=\(port)",
                    "--ctrl", "type=tcp,bindaddr=127.0.0.1,port=\(port + 1)",
                    "--flags", "not-need-init,startup-clear", "--daemon", "--pid", "file=\(file.path)",
                ]).ended()
                guard status == 0 else { continue }
                while true {
                    let text = try? String(contentsOf: file, encoding: .utf8)
                    if let process = text.flatMap({ pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) }) {
                        return (port, process)
                    }
                    sched_yield()
                }
            }
            throw Socket.Broken(call: "swtpm")
        }

        /// - Parameter recovery: the number of seconds until the token accepts one more PIN.
        func setLimit(recovery: Int) throws {
            try Program.run(
                [
                    "tpm2_dictionarylockout", "--setup-parameters", "--max-tries=3", "--recovery-time=\(recovery)",
                    "--lockout-recovery-time=1000",
                ], environment: ["TPM2TOOLS_TCTI": tcti])
        }
    }
#endif
