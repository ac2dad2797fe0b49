import Testing

@testable import KeyServiceServer

@Suite struct RequestPlacesTests {
    @Test func requestsBeyondThePlacesAreBusyUntilOneIsFree() async throws {
        let places = RequestPlaces(2, pause: .zero)
        let refused = try await places.withPlace {
            try await places.withPlace {
                await #expect(throws: KeyServiceServerError.self) { try await places.withPlace { true } }?.code
            }
        }
        #expect(refused == .busy)
        await #expect(throws: CancellationError.self) { try await places.withPlace { throw CancellationError() } }
        for _ in 1...3 { #expect(try await places.withPlace { true }) }
    }
}
