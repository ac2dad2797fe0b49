#if TPM2
    internal import Foundation
    internal import VaultBiometric
    internal import VaultCrypto
    internal import VaultTPM2

    /// The program that Tests/Benchmarks/tpm2.py measures. `seal TCTI FILE` seals a key into the file. `open TCTI FILE`
    /// opens it once. `serve TCTI FILE` opens it for each line of input, and prints the time in seconds.
    @main struct TPM2Benchmark: BiometricPrompt {
        func pin(_ request: PINRequest) async throws -> SecretBytes { try SecretBytes(utf8: "1234") }
        func act(_ instruction: String) async {}

        static func main() async throws {
            let arguments = CommandLine.arguments
            guard arguments.count == 4 else {
                throw BiometricError(.failed, "Usage: vault-tpm2-benchmark seal|open|serve TCTI FILE")
            }
            let provider = TPM2Provider(tcti: arguments[2])
            let file = URL(filePath: arguments[3])
            if arguments[1] == "seal" {
                let protected = try await provider.protect(.random(count: 32), prompt: TPM2Benchmark())
                return try Data(protected.bytes).write(to: file)
            }
            let protected = ProtectedSecret(bytes: Array(try Data(contentsOf: file)), label: "TPM")
            repeat {
                let start = ContinuousClock.now
                _ = try await provider.unprotect(protected, prompt: TPM2Benchmark())
                if arguments[1] == "serve" { print((ContinuousClock.now - start) / .seconds(1)) }
                fflush(nil)
            } while arguments[1] == "serve" && readLine() != nil
        }
    }
#else
    /// The package was built without a TPM.
    @main struct TPM2Benchmark {
        static func main() { print("Build it with --traits TPM2.") }
    }
#endif
