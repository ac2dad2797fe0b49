import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// An app's secrets, small and large, on disk and in memory.
@Suite(.timeLimit(.minutes(5))) struct SessionItemsTests {
    /// Sizes around the limit for an item in one piece, and around the size of a chunk.
    static let sizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073, 1_000_000]
    private static let notes: ItemName = "notes"

    enum Place: CaseIterable {
        case memory, disk

        func withFixture(_ body: (Fixture) async throws -> Void) async throws {
            switch self {
            case .memory: try await VaultAuthTests.withFixture(body)
            case .disk: try await withFixtureOnDisk { fixture, _ in try await body(fixture) }
            }
        }
    }

    private func content(_ size: Int, _ salt: UInt8 = 0) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) &+ salt }
    }

    @Test(arguments: Place.allCases)
    func `when an item has any size, then it returns unchanged`(place: Place) async throws {
        try await place.withFixture { fixture in
            let session = try await fixture.register()
            let items = session.items
            #expect(try await items.get(Self.notes) == nil)
            #expect(try await items.names() == [])
            for size in Self.sizes + Self.sizes.reversed() {
                let content = content(size)
                try await items.set(Self.notes, to: content)
                #expect(try await items.get(Self.notes) == content, "\(size) bytes")
                var pieces: [[UInt8]] = []
                #expect(try await items.read(Self.notes) { pieces.append($0) })
                #expect(pieces.flatMap { $0 } == content && pieces.allSatisfy { $0.count <= 65_536 })
                let stored = try #require(try await fixture.store.item(Self.notes, of: session.id))
                #expect(stored[2] == (size > 65_536 ? 3 : 1), "up to 64 KiB the form is the one of before")
                #expect(try await items.names() == [Self.notes])
            }
            #expect(try await items.remove(Self.notes))
            #expect(try await !items.remove(Self.notes))
            #expect(try await items.get(Self.notes) == nil)
            #expect(try await !items.read(Self.notes) { _ in })
        }
    }

    @Test func `when pieces of any size come, then one item results`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            for sizes in [
                [], [0], [1, 65_535, 0, 1], [200_000, 3], [65_536, 65_536], [Int](repeating: 1, count: 500),
            ] {
                let pieces = sizes.enumerated().map { content($1, UInt8(truncatingIfNeeded: $0)) }
                try await session.items.set(Self.notes, from: Given(pieces: pieces))
                #expect(try await session.items.get(Self.notes) == pieces.flatMap { $0 })
            }
        }
    }

    @Test(arguments: Place.allCases)
    func `when an item exceeds 16 MiB, then it is refused`(place: Place) async throws {
        try await place.withFixture { fixture in
            let session = try await fixture.register()
            let whole = [UInt8](repeating: 7, count: SessionItems.maximumSize)
            try await session.items.set(Self.notes, to: whole)
            #expect(try await session.items.get(Self.notes) == whole)
            let failures: [() async throws -> Void] = [
                { try await session.items.set(Self.notes, to: whole + [1]) },
                { try await session.items.set(Self.notes, from: Endless()) },
            ]
            for body in failures { #expect(await failure(body)?.code == .itemTooLarge) }
            #expect(try await session.items.get(Self.notes) == whole)
        }
    }

    @Test func `when a sequence throws, then the item stays unchanged`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            try await session.items.set(Self.notes, to: [1])
            await #expect(throws: CocoaError.self) {
                try await session.items.set(
                    Self.notes, from: Given(pieces: [content(200_000)], failure: .init(.fileReadUnknown)))
            }
            #expect(try await session.items.get(Self.notes) == [1])
        }
    }

    @Test func `when the network or provider fails, then items stay available`() async throws {
        try await withFixture { fixture in
            try await fixture.register().items.set(Self.notes, to: content(100_000))
            try await fixture.addOffline()
            let vault = try await fixture.anotherVault()
            fixture.keyService.isReachable = false
            await fixture.provider.setFault(.status(503))
            let offline = try await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Fixture.password))
            #expect(offline.isOffline)
            #expect(try await offline.items.get(Self.notes) == content(100_000))
            try await offline.items.update("list", default: [Int]()) { $0.append(1) }

            await fixture.provider.setFault(nil)
            fixture.keyService.isReachable = true
            try await fixture.provider.revokeAllRefreshTokens()
            let session = try await fixture.vault.auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Fixture.password))
            let refusal = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(refusal?.isRefreshTokenExpired == true)
            try await session.items.update("list", default: [Int]()) { $0.append(2) }
            #expect(try await session.items.get("list", as: [Int].self) == [1, 2])
            try await session.items.set(Self.notes, to: content(200_000))
            #expect(try await session.items.get(Self.notes) == content(200_000))

            let items = session.items
            let begun = try await fixture.vault.auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Fixture.password))
            var pieces = 0
            let locked = await failure {
                try await begun.items.read(Self.notes) { _ in
                    pieces += 1
                    await begun.lock()
                }
            }
            #expect(locked?.code == .notLoggedIn && pieces == 1)
            await session.lock()
            let calls: [() async throws -> Void] = [
                { _ = try await items.get(Self.notes) }, { try await items.set(Self.notes, to: []) },
                { _ = try await items.names() }, { try await items.remove(Self.notes) },
                { try await items.update("list", default: 0) { $0 += 1 } },
            ]
            for call in calls {
                let error = await failure(call)
                #expect(error?.code == .notLoggedIn || error?.isRefreshTokenExpired == true)
            }
        }
    }

    @Test func `when an item name is invalid, then each call fails`() async throws {
        try await withFixture { fixture in
            let items = try await fixture.register().items
            let longest = ItemName(rawValue: String(repeating: "ä", count: 127) + "x")
            try await items.set(longest, to: [1])
            #expect(try await items.get(longest) == [1])
            for name in ["", "vault/refresh-token", "a\nb", "\u{1B}[2J", longest.rawValue + "x"]
                .map(ItemName.init(rawValue:))
            {
                let calls: [() async throws -> Void] = [
                    { _ = try await items.get(name) }, { try await items.set(name, to: [1]) },
                    { try await items.remove(name) }, { try await items.update(name, default: 0) { $0 += 1 } },
                ]
                for call in calls { #expect(await failure(call)?.code == .configurationInvalid, "\(name)") }
            }
            #expect(try await items.names() == [longest])
        }
    }

    @Test func `when decoding a value fails, then no error quotes it`() async throws {
        try await withFixture { fixture in
            let items = try await fixture.register().items
            #expect(try await items.get(Self.notes, as: [String].self) == nil)
            try await items.set(Self.notes, encoding: ["Room 4"])
            #expect(try await items.get(Self.notes) == Array(#"["Room 4"]"#.utf8))
            let count = try await items.update(Self.notes, default: [String]()) { notes in
                notes.append("Room 5")
                return notes.count
            }
            #expect(count == 2)
            #expect(try await items.get(Self.notes, as: [String].self) == ["Room 4", "Room 5"])
            let calls: [() async throws -> Void] = [
                { _ = try await items.get(Self.notes, as: [Int].self) },
                { try await items.update(Self.notes, default: [Int]()) { $0.append(1) } },
            ]
            for call in calls {
                let error = await failure(call)
                #expect(error?.code == .itemUnexpected && error?.underlying == nil)
                #expect(error?.description.contains("Room") == false)
            }
            await #expect(throws: CocoaError.self) {
                try await items.update(Self.notes, default: [String]()) { notes in
                    notes = []
                    throw CocoaError(.userCancelled)
                }
            }
            #expect(try await items.get(Self.notes, as: [String].self) == ["Room 4", "Room 5"])
        }
    }

    @Test(arguments: Place.allCases, [1, 5_000])
    func `when fifty updates run at once, then none is lost`(place: Place, length: Int) async throws {
        try await place.withFixture { fixture in
            try await fixture.register()
            var sessions: [Session] = []
            for _ in 0..<3 {
                let vault = try await fixture.anotherVault()
                sessions.append(
                    try await vault.auth.unlock(userID: "alice", password: SecretBytes(utf8: Fixture.password)))
            }
            let all = sessions
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        let word = String(repeating: "x", count: length) + "\(number)"
                        try await all[number % 3].items.update(Self.notes, default: [String]()) { $0.append(word) }
                    }
                }
                try await group.waitForAll()
            }
            let words = try await all[0].items.get(Self.notes, as: [String].self) ?? []
            #expect(Set(words.map { Int($0.drop { $0 == "x" }) }) == Set(0..<50) && words.count == 50)
        }
    }

    @Test(arguments: Place.allCases)
    func `when an item is replaced during reading, then reading fails`(place: Place) async throws {
        try await place.withFixture { fixture in
            let session = try await fixture.register()
            for second in [content(300_000, 9), content(10, 9)] {
                try await session.items.set(Self.notes, to: content(300_000))
                var read: [UInt8] = []
                let error = await failure {
                    try await session.items.read(Self.notes) { piece in
                        if read.isEmpty { try await session.items.set(Self.notes, to: second) }
                        read += piece
                    }
                }
                #expect(error?.code == .busy)
                #expect(read == Array(content(300_000).prefix(65_536)))
                #expect(try await session.items.get(Self.notes) == second)
            }
        }
    }

    @Test func `when a task is cancelled, then no part is stored`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            try await session.items.set(Self.notes, to: content(300_000))
            let reading = Task {
                var size = 0
                try await session.items.read(Self.notes) { piece in
                    size += piece.count
                    withUnsafeCurrentTask { $0?.cancel() }
                }
                return size
            }
            #expect(await failure { _ = try await reading.value }?.code == .cancelled)
            // A stream that ends when its task is cancelled.
            let pieces = AsyncStream<[UInt8]>(unfolding: {
                withUnsafeCurrentTask { $0?.cancel() }
                return [UInt8](repeating: 0, count: 100)
            })
            let writing = Task { try await session.items.set(Self.notes, from: pieces) }
            #expect(await failure { try await writing.value }?.code == .cancelled)
            #expect(try await session.items.get(Self.notes) == content(300_000))
        }
    }

    /// Pieces, and then perhaps a failure.
    private struct Given: AsyncSequence, Sendable {
        let pieces: [[UInt8]]
        var failure: CocoaError?

        func makeAsyncIterator() -> AsyncThrowingStream<[UInt8], any Error>.Iterator {
            let (pieces, failure) = (pieces, failure)
            return AsyncThrowingStream { continuation in
                for piece in pieces { continuation.yield(piece) }
                continuation.finish(throwing: failure)
            }.makeAsyncIterator()
        }
    }

    private struct Endless: AsyncSequence, Sendable {
        func makeAsyncIterator() -> AsyncStream<[UInt8]>.Iterator {
            AsyncStream(unfolding: { [UInt8](repeating: 0, count: 1_000_000) }).makeAsyncIterator()
        }
    }
}
