#if PKCS11
    internal import Foundation
    internal import VaultBiometric
    internal import VaultCrypto
    internal import VaultPKCS11

    /// The program that Tests/Benchmarks/pkcs11.py measures: `MODULE PIN`. It protects a key with the token's key. For
    /// each line of input, it opens the key and prints the time in seconds. `provider` opens with the provider, `raw`
    /// with only the necessary calls, and `thread` with the same calls on another thread. `decrypt` times one
    /// decryption after the module is started and logged in.
    @main struct PKCS11Benchmark: BiometricPrompt {
        let typed: String

        func pin(_ request: PINRequest) async throws -> SecretBytes { try SecretBytes(utf8: typed) }
        func act(_ instruction: String) async {}

        static func main() async throws {
            let arguments = CommandLine.arguments
            guard arguments.count == 3 else {
                throw BiometricError(.failed, "Usage: vault-pkcs11-benchmark MODULE PIN")
            }
            let (module, person) = (arguments[1], PKCS11Benchmark(typed: arguments[2]))
            let provider = PKCS11Provider(uri: "pkcs11:?module-path=\(module)")
            let protected = try await provider.protect(.random(count: 32), prompt: person)
            let (serial, message, usesSHA256) = try fields(of: protected.bytes)
            while let line = readLine() {
                let start = ContinuousClock.now
                switch line {
                case "provider":
                    _ = try await provider.unprotect(protected, prompt: person)
                    print((ContinuousClock.now - start) / .seconds(1))
                case "decrypt": print(try raw() / .seconds(1))
                case "raw":
                    _ = try raw()
                    print((ContinuousClock.now - start) / .seconds(1))
                default:
                    try await onThread { _ = try raw() }
                    print((ContinuousClock.now - start) / .seconds(1))
                }
                fflush(nil)
            }

            /// - Returns: the time of the decryption.
            @Sendable func raw() throws -> Duration {
                let token = try RawToken(module: module, usesSHA256: usesSHA256)
                try token.logIn(person.typed, serial: serial)
                let start = ContinuousClock.now
                try token.decrypt(message)
                let duration = ContinuousClock.now - start
                try token.logOut()
                return duration
            }
        }

        private static func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
            try await withCheckedThrowingContinuation { (over: CheckedContinuation<Void, any Error>) in
                Thread.detachNewThread { @Sendable in over.resume(with: Result { try body() }) }
            }
        }

        /// The token's serial number and the bytes that the token decrypts: the third and ninth of the fields behind
        /// the version, each with its length before it.
        private static func fields(
            of form: [UInt8]
        ) throws -> (serial: [UInt8], message: [UInt8], usesSHA256: Bool) {
            var (rest, fields) = (form.dropFirst(7), [[UInt8]]())
            while fields.count < 9, rest.count >= 2 {
                let count = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
                fields.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            guard fields.count == 9 else { throw BiometricError(.failed, "That is another version.") }
            return (fields[2], fields[8], fields[7] == [1])
        }
    }
#else
    /// The package was built without PKCS#11.
    @main struct PKCS11Benchmark {
        static func main() { print("Build it with --traits PKCS11.") }
    }
#endif
