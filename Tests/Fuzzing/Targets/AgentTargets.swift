import VaultAgentProtocol

extension FuzzTarget {
    /// What a client sends the agent, and what something else than the agent answers: one message after the other, and the
    /// whole as one message.
    static func agentMessages(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while let range = try? MessageFrame.first(in: rest, limit: MessageFrame.longestRequest) {
            read(rest[range])
            rest = rest[range.endIndex...]
        }
        read(bytes[...])
    }

    private static func read(_ message: ArraySlice<UInt8>) {
        // What is read is written as it was.
        if let request = try? AgentRequest(message) {
            precondition(Array(request.bytes.dropFirst(4)) == Array(message))
        }
        if let answer = try? AgentAnswer(message), message.first == MessageFrame.version {
            precondition(Array(answer.bytes.dropFirst(4)) == Array(message))
        }
    }
}
