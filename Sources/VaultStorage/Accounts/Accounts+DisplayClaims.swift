internal import Foundation
internal import VaultJSON

extension Accounts {
    /// What is stored for the list of accounts when an account has these claims; nothing if no app chose any.
    func changesToShow(_ claimsJSON: [UInt8]) -> [StoreChange] {
        displayClaims.map { [.putDisplayClaims(Self.shown($0, of: claimsJSON))] } ?? []
    }

    /// Writes the chosen claims of an account that was opened, if others were chosen before. It must keep nobody out.
    func showClaims(of account: Account, vaultKey: VaultKey) async {
        guard let displayClaims,
            let claims = try? await TokenItems(store: store, id: account.id, vaultKey: vaultKey).claims()
        else { return }
        let shown = Self.shown(displayClaims, of: claims)
        if shown != account.displayClaims { try? await store.apply([.putDisplayClaims(shown)], to: account.id) }
    }

    /// The named claims as text. One that is no text, number or truth value is left out.
    private static func shown(_ names: [String], of claimsJSON: [UInt8]) -> [String: String] {
        let claims = JSONValue(objectIn: claimsJSON)
        return names.reduce(into: [:]) { shown, name in
            guard let claim = claims?[name] else { return }
            shown[name] =
                claim.string ?? claim.exactInteger ?? claim.bool.map { "\($0)" } ?? claim.number.map { "\($0)" }
        }
    }
}
