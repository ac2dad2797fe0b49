/// The resources that need a token.
extension BackendServer {
    private struct Items: Encodable {
        var items: [String]
        var username: String
    }

    private struct NewItem: Decodable {
        var name: String
    }

    private struct Query: Decodable {
        var query: String
    }

    private struct QueryAnswer: Encodable {
        struct Viewer: Encodable {
            var username: String
            var items: [String]
        }

        var data: [String: Viewer]
    }

    private struct QueryErrors: Encodable {
        struct Entry: Encodable {
            var message: String
            var extensions: [String: String]
        }

        var errors: [Entry]
    }

    func listItems(_ call: BackendCall) async throws -> BackendAnswer {
        let username = try await username(for: call)
        return try .json(Items(items: items, username: username), username: username)
    }

    /// Adds to the list, so a request that is sent twice is visible.
    func addItem(_ call: BackendCall) async throws -> BackendAnswer {
        let username = try await username(for: call)
        items.append(try call.body(NewItem.self).name)
        return try .json(Items(items: items, username: username), status: 201, username: username)
    }

    func moved() -> BackendAnswer { .init(status: 302, content: .redirect(options.paths.items)) }

    func elsewhere() -> BackendAnswer { .init(status: 302, content: .redirect(options.elsewhere)) }

    /// GraphQL has its errors in the body: `UNAUTHENTICATED` for a bad token, `BAD_USER_INPUT` for a bad query.
    func graphQL(_ call: BackendCall) async throws -> BackendAnswer {
        do {
            let username = try await username(for: call)
            guard (try? call.body(Query.self)) != nil else {
                throw BackendError.invalidRequest("The body has no query.")
            }
            return try .json(
                QueryAnswer(data: ["viewer": .init(username: username, items: items)]), username: username)
        } catch let error as BackendError {
            let code = error.status == 401 ? "UNAUTHENTICATED" : "BAD_USER_INPUT"
            var answer = try BackendAnswer.json(
                QueryErrors(errors: [.init(message: error.message, extensions: ["code": code])]),
                status: options.graphQLErrorsAreOK ? 200 : error.status)
            answer.outcome = error.outcome
            return answer
        }
    }

    /// Finds the person of a request, by a token of this backend or of its trusted provider.
    private func username(for call: BackendCall) async throws -> String {
        if let user = try? user(bearing: call.bearer) { return user.username }
        guard let provider = options.identityProvider else { throw BackendError.invalidToken }
        do {
            return try await provider.username(
                for: .init(
                    authorization: call.authorization, proofs: call.proofs, method: call.method,
                    url: origin + call.path))
        } catch let error as OAuthError {
            var refusal = BackendError.invalidToken
            refusal.outcome = error.outcome
            refusal.challenge = error.challenge ?? refusal.challenge
            refusal.nonce = await provider.announcedNonce
            throw refusal
        }
    }
}
