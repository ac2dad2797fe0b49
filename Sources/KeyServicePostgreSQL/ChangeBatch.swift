#if PostgreSQL
    internal import KeyServiceServer

    /// The changes of one transaction, without updates. One statement carries out all changes of a kind.
    ///
    /// The kinds follow each other in a fixed order. If the changes of one key have another order, a new round of
    /// statements begins. So the changes of each key keep their order.
    struct ChangeBatch {
        typealias Outcome = Result<KeyRecordOutcome, KeyServiceServerError>

        /// The kinds, in the order of their statements.
        private enum Kind: Int, CaseIterable {
            case settle, noteUse, reseal, insert, charge, find, checkIn

            /// - Returns: nil for an update, which has a transaction of its own.
            init?(_ change: KeyRecordChange) {
                switch change {
                case .settle: self = .settle
                case .noteUse: self = .noteUse
                case .reseal: self = .reseal
                case .insert: self = .insert
                case .charge: self = .charge
                case .find: self = .find
                case .update: return nil
                case .checkIn: self = .checkIn
                }
            }
        }

        /// A statement, and the reader of its rows.
        private struct Step {
            let query: Connection.Query
            let read: (Rows, inout [Outcome]) throws(DatabaseFailure) -> Void
        }

        private let changes: [KeyRecordChange]
        private var steps: [Step] = []

        init(_ changes: [KeyRecordChange]) {
            self.changes = changes
            var rounds: [[Kind: [Int]]] = [[:]]
            var last: [String: Int] = [:]
            for (place, change) in changes.enumerated() {
                guard let kind = Kind(change) else { continue }
                if let keyID = change.changedKeyID {
                    if let earlier = last[keyID], earlier >= kind.rawValue {
                        rounds.append([:])
                        last.removeAll(keepingCapacity: true)
                    }
                    last[keyID] = kind.rawValue
                }
                rounds[rounds.count - 1][kind, default: []].append(place)
            }
            for round in rounds {
                for kind in Kind.allCases {
                    if let places = round[kind] { addSteps(kind, places) }
                }
            }
        }

        var queries: [Connection.Query] { steps.map(\.query) }

        /// Reads the outcomes from the rows of ``queries``.
        ///
        /// - Returns: an outcome for each change. A charge without a row has the outcome `held`: look up the reason.
        func outcomes(_ rows: [Rows]) throws(DatabaseFailure) -> [Outcome] {
            guard rows.count == steps.count else { throw .damaged }
            var outcomes = changes.map(Self.outcomeWithoutRow)
            for (step, rows) in zip(steps, rows) { try step.read(rows, &outcomes) }
            return outcomes
        }

        private static func outcomeWithoutRow(_ change: KeyRecordChange) -> Outcome {
            switch change {
            case .insert: .success(.exists)
            case .find: .success(.noSuchKey)
            case .update: .failure(.busy)
            case .charge: .success(.held)
            case .settle, .reseal: .success(.superseded)
            case .noteUse, .checkIn: .success(.done)
            }
        }

        private mutating func addSteps(_ kind: Kind, _ places: [Int]) {
            switch kind {
            case .settle: addSettlings(places)
            case .noteUse: addUses(places)
            case .reseal: for place in places { addReseal(place) }
            case .insert: addInserts(places)
            case .charge: addCharges(places)
            case .find: addLookups(places)
            case .checkIn: for place in places { addCheckIn(place) }
            }
        }

        private mutating func addSettlings(_ places: [Int]) {
            var asked: [(place: Int, key: KeyReference, ticket: GuessTicket, result: GuessResult)] = []
            for place in places {
                if case .settle(let key, let ticket, let result) = changes[place] {
                    asked.append((place, key, ticket, result))
                }
            }
            asked.sort { ($0.key.row ?? .max) < ($1.key.row ?? .max) }
            let lost = asked.filter { $0.key.row == nil }.map(\.key.id)
            if !lost.isEmpty {
                var parameters = Parameters()
                parameters.add(lost)
                steps.append(Step(query: (GuessStatements.awaitCharge, parameters), read: Self.readNothing))
            }
            var parameters = Parameters()
            parameters.add(asked.map(\.key.row))
            parameters.add(asked.map { $0.key.row == nil ? $0.key.id : "" })
            parameters.add(asked.map(\.ticket.rawValue))
            parameters.add(asked.map(\.result.number))
            parameters.add(asked.map(\.result.lastWrongAt))
            parameters.add(asked.map(\.result.usedAt))
            let tickets = Dictionary(asked.map { ($0.ticket.rawValue, $0.place) }) { first, _ in first }
            steps.append(
                Step(query: (GuessStatements.settle, parameters)) { (rows, outcomes) throws(DatabaseFailure) in
                    for row in 0..<rows.count {
                        if let place = tickets[try rows.number(row, 0)] { outcomes[place] = .success(.done) }
                    }
                })
        }

        private mutating func addUses(_ places: [Int]) {
            var asked: [(key: KeyReference, time: Int64)] = []
            for place in places {
                if case .noteUse(let key, let time) = changes[place] { asked.append((key, time)) }
            }
            asked.sort { ($0.key.row ?? .max) < ($1.key.row ?? .max) }
            var parameters = Parameters()
            parameters.add(asked.map(\.key.row))
            parameters.add(asked.map { $0.key.row == nil ? $0.key.id : "" })
            parameters.add(asked.map(\.time))
            steps.append(Step(query: (GuessStatements.noteUse, parameters), read: Self.readNothing))
        }

        private mutating func addReseal(_ place: Int) {
            guard case .reseal(let record, let replaced) = changes[place] else { return }
            var parameters = Parameters()
            parameters.add(record.id)
            parameters.add(Int64(record.details.kind))
            parameters.add(record.details.bytes)
            parameters.add(Int64(bitPattern: record.masterKeyID.rawValue))
            parameters.add(record.content)
            parameters.add(replaced)
            steps.append(
                Step(query: (GuessStatements.reseal, parameters)) { (rows, outcomes) throws(DatabaseFailure) in
                    if rows.count > 0 { outcomes[place] = .success(.done) }
                })
        }

        private mutating func addInserts(_ places: [Int]) {
            var records: [KeyRecord] = []
            var placesByID: [String: Int] = [:]
            for place in places {
                guard case .insert(let record) = changes[place] else { continue }
                records.append(record)
                placesByID[record.id] = place
            }
            var parameters = Parameters()
            parameters.add(records.map(\.id))
            parameters.add(records.map(\.createdAt))
            parameters.add(records.map { Int64($0.details.kind) })
            parameters.add(records.map(\.details.bytes))
            parameters.add(records.map { Int64(bitPattern: $0.masterKeyID.rawValue) })
            parameters.add(records.map(\.content))
            steps.append(
                Step(query: (GuessStatements.insert, parameters)) { (rows, outcomes) throws(DatabaseFailure) in
                    for row in 0..<rows.count {
                        if let place = placesByID[try rows.text(row, 0)] { outcomes[place] = .success(.done) }
                    }
                })
        }

        private mutating func addCharges(_ places: [Int]) {
            var ids: [String] = []
            var tickets: [Int64] = []
            var times: [Int64] = []
            for place in places {
                guard case .charge(let keyID, let ticket, let time) = changes[place] else { continue }
                ids.append(keyID)
                tickets.append(ticket.rawValue)
                times.append(time)
            }
            var parameters = Parameters()
            parameters.add(ids)
            parameters.add(tickets)
            parameters.add(times)
            steps.append(
                Step(query: (GuessStatements.charge, parameters)) { (rows, outcomes) throws(DatabaseFailure) in
                    try FoundRows.read(rows, ids: ids, places: places, into: &outcomes)
                })
        }

        private mutating func addLookups(_ places: [Int]) {
            var ids: [String] = []
            for place in places {
                if case .find(let keyID) = changes[place] { ids.append(keyID) }
            }
            var parameters = Parameters()
            parameters.add(ids)
            steps.append(
                Step(query: (GuessStatements.find, parameters)) { (rows, outcomes) throws(DatabaseFailure) in
                    try FoundRows.read(rows, ids: ids, places: places, into: &outcomes)
                })
        }

        private mutating func addCheckIn(_ place: Int) {
            guard case .checkIn(let time) = changes[place] else { return }
            var parameters = Parameters()
            parameters.add(time)
            steps.append(
                Step(query: (StateStatements.checkIn, parameters)) { (rows, outcomes) throws(DatabaseFailure) in
                    outcomes[place] = .success(.checkedIn(try StateStatements.read(rows)))
                })
            steps.append(
                Step(query: (StateStatements.masterKeys, Parameters())) { (rows, outcomes) throws(DatabaseFailure) in
                    guard case .success(.checkedIn(var state)) = outcomes[place] else { return }
                    state.masterKeys = try StateStatements.readMasterKeys(rows)
                    outcomes[place] = .success(.checkedIn(state))
                })
        }

        private static func readNothing(_ rows: Rows, _ outcomes: inout [Outcome]) {}
    }

    extension GuessResult {
        fileprivate var number: Int64 {
            switch self {
            case .wrong: Settling.wrong
            case .right: Settling.right
            case .rightAndKept, .unused: Settling.takenBack
            }
        }

        fileprivate var lastWrongAt: Int64? {
            switch self {
            case .wrong, .right: nil
            case .rightAndKept(let time, _), .unused(let time): time
            }
        }

        fileprivate var usedAt: Int64? {
            switch self {
            case .wrong, .unused: nil
            case .right(let time), .rightAndKept(_, let time): time
            }
        }
    }

    extension KeyRecordChange {
        /// The key that is changed; nil for a change of the store itself.
        var changedKeyID: String? {
            switch self {
            case .insert(let record), .reseal(let record, _): record.id
            case .find(let keyID), .charge(let keyID, _, _), .update(let keyID, _): keyID
            case .settle(let key, _, _), .noteUse(let key, _): key.id
            case .checkIn: nil
            }
        }
    }
#endif
