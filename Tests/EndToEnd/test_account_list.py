"""The output of `vault users` and `vault status` for a closed account."""

from support.person import PASSWORD

CLAIMS = {"CREDENTIAL_VAULT_DISPLAY_CLAIMS": "name"}


def on_disk(person, text):
    return any(text.encode() in content for content in person.files().values())


def test_chosen_claims_are_listed_and_lie_in_the_clear(alice):
    assert not on_disk(alice, "Alice Example")
    assert "display_claims" not in alice.vault("users", "--json").json[0]
    assert alice.vault("login", password=PASSWORD, env=CLAIMS).status == 0
    assert on_disk(alice, "Alice Example")
    users = alice.vault("users").out.splitlines()
    assert users[0].split()[:2] == ["USER", "NAME"] and "Alice Example" in users[1]
    assert alice.vault("users", "--json").json[0]["display_claims"] == {"name": "Alice Example"}
    assert "Alice Example" in alice.vault("status").out
    # Another program's choice remains. "none" removes it.
    assert alice.vault("login", password=PASSWORD).status == 0
    assert "Alice Example" in alice.vault("users").out
    none = {name: "none" for name in CLAIMS}
    assert alice.vault("login", password=PASSWORD, env=none).status == 0
    assert "Alice Example" not in alice.vault("users").out


def test_status_tells_the_scopes_and_the_end_of_the_access_token(alice):
    login = alice.vault("login", "--json", password=PASSWORD).json
    status = alice.vault("status", "--json").json
    assert status["scopes"] == login["scope"].split() and "openid" in status["scopes"]
    assert status["access_token_expires_at"] == login["expires_at"]
    text = alice.vault("status").out
    assert f"stored, sealed; valid until {login['expires_at']}" in text and f" {login['scope']}\n" in text
    alice.sql("UPDATE account SET access_token_expires_at = access_token_expires_at - 3600, granted_scope = NULL")
    text = alice.vault("status").out
    assert "stored, sealed; ended at " in text and "Scopes:         not known\n" in text
    assert alice.vault("logout").status == 0
    assert "access_token_expires_at" not in alice.vault("status", "--json").json
    assert "Access token:   none\n" in alice.vault("status").out
