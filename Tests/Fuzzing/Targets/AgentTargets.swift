import VaultAgentProtocol

extension FuzzTarget {
    /// Messages that a client sends to the agent, and answers that do not come from the agent. The input is read as one
    /// message after the other, and as one message.
    static func agentMessages(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while let range = try? MessageFrame.first(in: rest, limit: MessageFrame.longestRequest) {
            read(rest[range])
            rest = rest[range.endIndex...]
        }
        read(bytes[...])
    }

    private static func read(_ message: ArraySlice<UInt8>) {
        // A message that was read is written with the same bytes.
        if let request = try? AgentRequest(message) {
            precondition(Array(request.bytes.dropFirst(4)) == Array(message))
        }
        if let answer = try? AgentAnswer(message), message.first == MessageFrame.version {
            precondition(Array(answer.bytes.dropFirst(4)) == Array(message))
        }
    }
}
