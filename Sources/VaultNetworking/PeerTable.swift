/// The kernel's tables of TCP sockets (`/proc/net/tcp` and `/proc/net/tcp6`, proc_net_tcp(5)).
package struct PeerTable {
    /// One end of a connection.
    package struct End: Hashable, Sendable {
        /// The address: 4 or 16 bytes, in network order.
        package var address: [UInt8]
        package var port: UInt16

        package init(address: [UInt8], port: UInt16) {
            self.address = address
            self.port = port
        }

        /// The listed form of an IPv6 socket that speaks IPv4 (RFC 4291 section 2.5.5.2). An IPv6 address does not
        /// change.
        package var mapped: End {
            guard address.count == 4 else { return self }
            return End(address: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + address, port: port)
        }

        /// The form in a table: each 4 bytes of the address as a number in this machine's byte order, in hexadecimal.
        fileprivate var text: String {
            let words = stride(from: 0, to: address.count - address.count % 4, by: 4).map { start in
                address[start..<start + 4].withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
            }
            return words.map { Self.hexadecimal($0, digits: 8) }.joined() + ":"
                + Self.hexadecimal(UInt32(port), digits: 4)
        }

        private static func hexadecimal(_ number: UInt32, digits: Int) -> String {
            let text = String(number, radix: 16, uppercase: true)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
    }

    /// A socket in a table.
    package struct Row: Hashable, Sendable {
        /// The state of the socket (`enum` in `net/tcp_states.h`).
        package var state: UInt8
        /// The socket's user, as seen from this process's user namespace.
        package var user: UInt32
        /// The inode; 0 if no process has the socket open. Then its user is unknown.
        package var inode: UInt64
    }

    /// The rest of each line, found by its two ends. So one pass over the files answers many questions.
    private var lines: [ArraySlice<UInt8>: [ArraySlice<UInt8>]] = [:]

    /// - Parameter files: the contents of the kernel's files. A line in another format than the kernel's is skipped.
    package init(_ files: [[UInt8]]) {
        let (space, colon) = (UInt8(ascii: " "), UInt8(ascii: ":"))
        for line in files.lazy.flatMap({ $0.split(separator: UInt8(ascii: "\n")) }) {
            // The first field is the number of the line and a colon.
            guard let number = line.firstIndex(of: colon), line[..<number].allSatisfy(Self.isDigitOrSpace) else {
                continue
            }
            let fields = line[(number + 1)...].drop { $0 == space }
            guard let first = fields.firstIndex(of: space), let second = fields[(first + 1)...].firstIndex(of: space)
            else { continue }
            lines[fields[..<second], default: []].append(fields[(second + 1)...])
        }
    }

    /// Returns the sockets between these two ends.
    package func rows(from local: End, to remote: End) -> [Row] {
        lines[ArraySlice("\(local.text) \(remote.text)".utf8), default: []].compactMap(Self.row)
    }

    /// Reads a row: state, queues, timer, retransmissions, user, timeout, inode. It ignores the rest.
    private static func row(_ text: ArraySlice<UInt8>) -> Row? {
        let fields = text.split(separator: UInt8(ascii: " "), maxSplits: 7)
        guard fields.count >= 7, fields[0].count == 2, fields[0].allSatisfy(isHexadecimal),
            let state = UInt8(String(decoding: fields[0], as: UTF8.self), radix: 16),
            fields[1...2].allSatisfy({ $0.allSatisfy { isHexadecimal($0) || $0 == UInt8(ascii: ":") } }),
            fields[3].allSatisfy(isHexadecimal), let user = number(fields[4], as: UInt32.self),
            fields[5].allSatisfy(isDigit), let inode = number(fields[6], as: UInt64.self)
        else { return nil }
        return Row(state: state, user: user, inode: inode)
    }

    private static func number<N: FixedWidthInteger>(_ field: ArraySlice<UInt8>, as type: N.Type) -> N? {
        guard field.allSatisfy(isDigit) else { return nil }
        return N(String(decoding: field, as: UTF8.self))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isDigitOrSpace(_ byte: UInt8) -> Bool { isDigit(byte) || byte == UInt8(ascii: " ") }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
    }
}
