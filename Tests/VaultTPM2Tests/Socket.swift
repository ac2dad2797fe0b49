#if TPM2
    import TestSupport

    extension Socket {
        /// Two listeners on neighbouring free ports, as swtpm needs them: commands on the first, control on the second.
        static func listeningPair() throws -> (commands: Socket, control: Socket) {
            for _ in 0..<1000 {
                // Below the system's port range for outgoing connections, which hold their ports for a while.
                let port = Int.random(in: 10_000..<32_000)
                if let first = try? listening(on: .port(port)), let second = try? listening(on: .port(port + 1)) {
                    return (first, second)
                }
            }
            throw Broken(call: "listen on two")
        }

        /// A command or an answer of a TPM. Its header contains its size.
        func readMessage() throws -> [UInt8] {
            let header = try read(10)
            let size = header[2..<6].reduce(0) { $0 << 8 | Int($1) }
            guard (10...65536).contains(size) else { throw Broken(call: "size") }
            return try header + read(size - 10)
        }
    }
#endif
