internal import FoundationEssentials

/// Encodes `value` as JSON with the protocol's names: `refreshToken` becomes `refresh_token`.
///
/// - Parameter isSnakeCase: False keeps the names as they are.
func protocolJSON(_ value: some Encodable, isSnakeCase: Bool = true) throws -> Data {
    let encoder = JSONEncoder()
    if isSnakeCase { encoder.keyEncodingStrategy = .convertToSnakeCase }
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(value)
}

/// Makes the JSON body of an error answer (RFC 6749 section 5.2).
func errorBody(_ error: OAuthError) -> Data {
    let fields = ["error": error.code, "error_description": error.detail]
    return (try? JSONEncoder().encode(fields)) ?? Data()
}
