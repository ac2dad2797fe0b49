internal import VaultBase
package import VaultStorage

extension Accounts {
    /// The changes that store the chosen claims for the list of accounts; empty if no app chose any.
    package func changesToShow(_ claimsJSON: [UInt8]) -> [StoreChange] {
        displayClaims.map { [.putDisplayClaims(Self.shown($0, of: claimsJSON))] } ?? []
    }

    /// Writes the chosen claims of an opened account if they changed. It never fails, so that the person still gets in.
    func showClaims(of account: Account, vaultKey: VaultKey) async {
        guard let displayClaims,
            let claims = try? await TokenItems(store: store, id: account.id, vaultKey: vaultKey).claims()
        else { return }
        let shown = Self.shown(displayClaims, of: claims)
        if shown != account.displayClaims { try? await store.apply([.putDisplayClaims(shown)], to: account.id) }
    }

    /// The named claims as text. A claim that is not text, a number or a truth value is left out.
    private static func shown(_ names: [String], of claimsJSON: [UInt8]) -> [String: String] {
        let claims = JSONValue(objectIn: claimsJSON)
        return names.reduce(into: [:]) { shown, name in
            guard let claim = claims?[name] else { return }
            shown[name] =
                claim.string ?? claim.exactInteger ?? claim.bool.map { "\($0)" } ?? claim.number.map { "\($0)" }
        }
    }
}
