/// Random numbers that are the same for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Whole HTTP answers that are wrong in some way, each the same for the same generator.
struct HostileAnswers {
    var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private static let fields = [
        "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity",
        "Transfer-Encoding: chunked, chunked", "Content-Length: 5", "Content-Length: 0", "Content-Length: -1",
        "Content-Length: 18446744073709551616", "Content-Length: 9223372036854775807", "Content-Length: 5, 5",
        "Content-Length: 0x5", "Content-Length:", "Connection: close", "Connection: upgrade", "Connection: keep-alive",
        "Upgrade: h2c", "Upgrade: websocket", "Trailer: X", "Content-Encoding: gzip", "Content-Encoding: deflate",
        "Keep-Alive: timeout=0", "Location: http://127.0.0.1:1/", "Location: /", "Set-Cookie: a=b", " folded",
        "\tfolded",
        ": no name", "no colon", "X\u{0}: y", "X: \u{0}", "X: \r", "X: é", "X y: z", "X", "",
        "Expires: Thu, 99 Foo 99999 99:99:99", "Cache-Control: max-age=99999999999999999999",
        "Cache-Control: max-age=-1, =, ,\"", "Date: 0", "Retry-After: -9223372036854775808", "DPoP-Nonce: \u{7F}",
        "WWW-Authenticate: DPoP error=\"use_dpop_nonce\"", "Content-Type: application/json; charset=\"",
    ]

    private static let versions = [
        "HTTP/1.1", "HTTP/1.0", "HTTP/1.9", "HTTP/0.9", "HTTP/2.0", "HTTP/9.9", "HTTP/11.1", "http/1.1", "HTTP/1.",
        "HTTP/", "ICY", "RTSP/1.0", "",
    ]

    private static let texts = [
        "{", "}", "[", "]", "null", "1e999", "-0", "99999999999999999999999", "\\u0000", "\\ud800", "\"\"", "\u{FEFF}",
        "true", "0.1e-99999",
    ]

    /// Makes an answer out of a right body.
    mutating func answer(for body: String) -> HostileServer.Answer {
        var bytes: [UInt8] = []
        if chance(8) {
            let status = ["100 Continue", "102 Processing", "103 Early Hints", "199 X", "101 Switching Protocols"]
            let count = chance(4) ? 200 : Int.random(in: 1...3, using: &random)
            let line = "HTTP/1.1 \(status.randomElement(using: &random) ?? "")\r\n\(chance(2) ? fieldLine() : "")\r\n"
            bytes += Array(String(repeating: line, count: count).utf8)
        }
        bytes += whole(body)
        if chance(10) { bytes += whole(body) }
        for _ in 0..<Int.random(in: 0...3, using: &random) where chance(2) { mutate(&bytes) }
        return HostileServer.Answer(pieces(of: bytes), closes: !chance(12))
    }

    /// Random bytes. Most of them begin like some protocol.
    mutating func noise() -> [UInt8] {
        let starts: [[UInt8]] = [
            [], Array("HTTP/1.1 200 OK\r\n".utf8), [0x16, 3, 1], [0x16, 3, 3, 0, 0x40, 2, 0, 0, 0x3C, 3, 3],
            [0x15, 3, 3, 0, 2, 2, 40], [0x15, 3, 1, 0, 2, 1, 0], [0x14, 3, 3, 0, 1, 1], [0x17, 3, 3, 0xFF, 0xFF],
            Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8),
        ]
        let start = starts.randomElement(using: &random) ?? []
        return start
            + (0..<Int.random(in: 0...300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private mutating func whole(_ body: String) -> [UInt8] {
        let status = chance(3) ? Int.random(in: 0...999, using: &random) : 200
        let digits = chance(20) ? "\(Int.random(in: -9...99999, using: &random))" : padded(status)
        let version = chance(10) ? Self.versions.randomElement(using: &random) ?? "" : "HTTP/1.1"
        var head = "\(version) \(digits)\(chance(10) ? "" : " OK")\r\nContent-Type: application/json\r\n"
        for _ in 0..<Int.random(in: 0...3, using: &random) { head += chance(3) ? fieldLine() : "" }
        var text = body
        if chance(6), let index = text.indices.randomElement(using: &random) {
            text.insert(contentsOf: Self.texts.randomElement(using: &random) ?? "", at: index)
        }
        switch Int.random(in: 0...4, using: &random) {
        case 0: return Array((head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(text)).utf8)
        case 1: return Array((head + "\r\n" + text).utf8)
        default: return Array((head + "Content-Length: \(text.utf8.count)\r\n\r\n" + text).utf8)
        }
    }

    private mutating func chunked(_ text: String) -> String {
        let sizes = [
            "0", "FFFFFFFFFFFFFFFF", "-1", "1;a=\"", "7FFFFFFFFFFFFFFF", "0x4", " 4", "", "g", "00000000000000004",
        ]
        let size = chance(4) ? sizes.randomElement(using: &random) ?? "" : String(text.utf8.count, radix: 16)
        return "\(size)\r\n\(text)\r\n0\r\n\(chance(4) ? fieldLine() : "")\r\n"
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        let start = Int.random(in: 0..<bytes.count, using: &random)
        let end = min(bytes.count, start + Int.random(in: 1...20, using: &random))
        switch Int.random(in: 0...5, using: &random) {
        case 0: bytes[start] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 1: bytes.removeSubrange(start..<end)
        case 2: bytes.insert(contentsOf: bytes[start..<end], at: start)
        case 3: bytes.removeLast(bytes.count - start)
        case 4: bytes.insert(UInt8.random(in: 0...255, using: &random), at: start)
        default: bytes.insert(contentsOf: Array(fieldLine().utf8), at: start)
        }
    }

    private mutating func pieces(of bytes: [UInt8]) -> [[UInt8]] {
        guard chance(3), bytes.count > 2 else { return [bytes] }
        let cut = Int.random(in: 1..<bytes.count, using: &random)
        return [Array(bytes[..<cut]), Array(bytes[cut...])]
    }

    private mutating func fieldLine() -> String { (Self.fields.randomElement(using: &random) ?? "") + "\r\n" }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    private func padded(_ status: Int) -> String {
        String(repeating: "0", count: max(0, 3 - "\(status)".count)) + "\(status)"
    }
}
