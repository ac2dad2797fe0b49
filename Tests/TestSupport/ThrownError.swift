package import Testing

/// The error of this type that `body` throws; nil if it throws none. An error of another type fails the test.
package func thrown<E: Error>(
    _ type: E.Type, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> E? {
    do {
        try await body()
    } catch let error as E {
        return error
    } catch {
        Issue.record("not \(E.self): \(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// As ``thrown(_:sourceLocation:_:)``, but returns a property of the error, such as its code.
package func thrown<E: Error, Value>(
    _ property: KeyPath<E, Value>, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> Value? {
    await thrown(E.self, sourceLocation: sourceLocation, body)?[keyPath: property]
}
