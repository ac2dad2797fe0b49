"""The output of `vault users` and `vault status` for a closed account."""

import pytest
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


def test_the_list_is_the_same_with_and_without_options(alice):
    alice.registered("--alias", "second", user="bob")
    plain = alice.vault("users")
    assert (plain.status, len(plain.out.splitlines())) == (0, 3)
    assert alice.vault("users", "--verbose").out == plain.out


def test_status_tells_the_scopes_and_the_end_of_the_access_token(alice):
    login = alice.vault("login", "--json", password=PASSWORD).json
    status = alice.vault("status", "--json").json
    assert status["scopes"] == login["scope"].split() and "openid" in status["scopes"]
    assert status["access_token_expires_at"] == login["expires_at"]
    text = alice.vault("status").out
    end = login["expires_at"].replace("T", " ").replace("Z", " UTC")
    assert f"stored, sealed; valid until {end}\n" in text and f" {login['scope']}\n" in text
    alice.sql("UPDATE account SET access_token_expires_at = access_token_expires_at - 3600, granted_scope = NULL")
    text = alice.vault("status").out
    assert "stored, sealed; ended at " in text and "Scopes:         not known\n" in text
    assert alice.vault("logout").status == 0
    assert "access_token_expires_at" not in alice.vault("status", "--json").json
    assert "Access token:   none\n" in alice.vault("status").out


def overlong(lines, margin=0):
    """The lines that a terminal of 60 columns would break, except those of one long word behind the margin."""
    return [line for line in lines if len(line) > 60 and len(line[margin:].split()) > 1]


@pytest.mark.parametrize("command", [["users"], ["status"], ["unlock", "list"]], ids=" ".join)
def test_no_word_is_broken_on_a_narrow_terminal(alice, command):
    terminal = alice.terminal(*command, columns=60)
    assert terminal.end() == 0
    lines = [line.rstrip("\r") for line in terminal.shown.split("\n")]
    assert not overlong(lines) and not [line for line in lines if line != line.rstrip()]
    # Nothing is missing, and pipes get the usual form.
    usual = alice.vault(*command).out
    assert set(usual.split()) <= set(terminal.shown.split())
    assert overlong(usual.splitlines())


def test_doctor_breaks_no_word_on_a_narrow_terminal(alice):
    terminal = alice.terminal("doctor", "--verbose", columns=60)
    assert terminal.end() == 0
    assert not overlong([line.rstrip("\r") for line in terminal.shown.split("\n")], margin=23)


def test_the_agents_list_also_fits_a_narrow_terminal(anna):
    assert anna.vault("login", password=PASSWORD).status == 0
    terminal = anna.terminal("users", columns=60)
    assert terminal.end() == 0
    assert "\r\nSUBJECT  " in terminal.shown


def test_the_agents_state_breaks_no_word_on_a_narrow_terminal(anna):
    assert anna.vault("login", password=PASSWORD).status == 0
    terminal = anna.terminal("agent", "status", columns=60)
    assert terminal.end() == 0
    assert not overlong([line.rstrip("\r") for line in terminal.shown.split("\n")])
    sentence = "not used; locks in"
    assert sentence in " ".join(terminal.shown.split())
    # Pipes get the usual form.
    assert [line for line in overlong(anna.vault("agent", "status").out.splitlines()) if sentence in line]


def test_an_account_gets_another_alias(alice):
    def rename(*words):
        return alice.vault("account", "rename", *words)

    result = rename("work")
    assert (result.status, result.out, result.err) == (0, "alice is called work now.\n", "")
    assert alice.vault("login", "--user", "work", password=PASSWORD).status == 0
    assert rename("desk", "--user", "work", "--json").json["alias"] == "desk"
    assert alice.vault("status", "--user", "work").status == 66
    result = rename("")
    assert (result.status, result.out) == (0, "desk is called alice now.\n")
    assert "Programs and helpers with --user desk need the new name." in result.err
    assert "alias" not in alice.vault("users", "--json").json[0]


def test_when_the_setting_names_the_account_then_rename_changes_it(alice):
    alice.registered("--alias", "nurse", user="bob")
    assert alice.vault("config", "set", "user", "nurse").status == 0
    result = alice.vault("account", "rename", "work", "--user", "alice")
    assert result.status == 0 and "setting" not in result.err, result
    result = alice.vault("account", "rename", "desk")
    assert (result.status, result.out) == (0, "nurse is called desk now.\n"), result
    assert "Changed the setting user, because it named nurse.\n" in result.err, result
    assert alice.vault("config", "get", "user").out == "desk\n"
    assert alice.vault("status").status == 0
    report = alice.vault("account", "rename", "room", "--json").json
    assert (report["alias"], report["former_alias"], report["changed_setting"]) == ("room", "desk", "user"), report
    # Without an alias, another name of the account is left.
    assert alice.vault("account", "rename", "").status == 0
    assert alice.vault("config", "get", "user").out == "bob\n" and alice.vault("status").status == 0


def test_when_the_setting_names_the_account_by_another_name_then_rename_keeps_it(alice):
    assert alice.vault("account", "rename", "desk").status == 0
    assert alice.vault("config", "set", "user", "alice").status == 0
    report = alice.vault("account", "rename", "work", "--json").json
    assert report["former_alias"] == "desk" and "changed_setting" not in report, report
    assert alice.vault("config", "get", "user").out == "alice\n" and alice.vault("status").status == 0


def test_when_the_old_alias_still_names_the_account_then_rename_keeps_the_setting(alice):
    alice.registered("--alias", "bob", user="bob")
    assert alice.vault("config", "set", "user", "bob").status == 0
    result = alice.vault("account", "rename", "robbie")
    assert (result.status, result.out, result.err) == (0, "bob is called robbie now.\n", "")
    assert alice.vault("config", "get", "user").out == "bob\n"
    assert alice.vault("status", "--user", "bob").status == 0


def test_when_an_account_should_get_back_its_own_name_then_the_refusal_names_rename(alice):
    alice.registered("--alias", "robbie", user="bob")
    result = alice.vault("register", "--alias", "bob", "--no-browser", password=PASSWORD)
    assert result.status == 78, result
    assert "leave out --alias. To give it this alias: vault account rename bob --user robbie\n" in result.err, result
    assert alice.vault("account", "rename", "bob", "--user", "robbie").out == "robbie is called bob now.\n"
    again = alice.vault("register", "--alias", "bob", "--no-browser", password=PASSWORD)
    assert again.status == 78 and "vault account rename" not in again.err, again


def test_when_a_registration_renames_an_account_then_it_says_so(alice):
    alice.registered("--alias", "nurse", user="bob")
    assert alice.vault("config", "set", "user", "nurse").status == 0
    # The person in the browser is not the one that the alias was for.
    result = alice.register("--alias", "carol", user="bob")
    assert result.status == 0, result
    said = "nurse is called carol now.\nChanged the setting user, because it named nurse.\n"
    assert f"{said}Programs and helpers with --user nurse need the new name.\n" in result.err, result
    assert alice.vault("config", "get", "user").out == "carol\n" and alice.vault("status").status == 0
    result = alice.register("--alias", "dora", "--json", user="bob")
    assert (result.json["alias"], result.json["former_alias"]) == ("dora", "carol"), result
    assert result.json["changed_setting"] == "user"
    result = alice.register("--json", user="bob")
    assert result.json["alias"] == "dora" and "former_alias" not in result.json, result
    assert "is called" not in alice.register(user="bob").err


def test_when_the_setting_changes_during_a_registration_then_it_stays(alice):
    alice.registered("--alias", "nurse", user="bob")
    assert alice.vault("config", "set", "user", "alice").status == 0
    assert alice.vault("account", "rename", "desk").status == 0
    assert alice.vault("config", "set", "user", "desk").status == 0
    terminal = alice.terminal("register", "--no-browser", "--alias", "room")
    terminal.browse()
    terminal.expect("Password (empty to choose a new password): ")
    assert alice.vault("config", "set", "user", "nurse").status == 0
    terminal.type(PASSWORD)
    assert terminal.end() == 0 and "desk is called room now." in terminal.shown, terminal.shown
    assert "Changed the setting" not in terminal.shown
    assert alice.vault("config", "get", "user").out == "nurse\n"


def test_an_alias_of_somebody_else_is_refused(alice):
    alice.registered("--alias", "desk", user="bob")
    for name in ("desk", "bob@example.com"):
        result = alice.vault("account", "rename", name, "--user", "alice")
        assert result.status == 78 and "is a name of" in result.err, result
    assert alice.vault("account", "rename", " ", "--user", "alice").status == 78
    assert alice.vault("status", "--user", "alice").status == 0


def test_an_alias_that_looks_like_an_option_is_refused(alice):
    renamed = alice.vault("account", "rename", "--", "-x")
    # The parser takes it for an option here, and shows the help of the argument.
    assert "It cannot begin with a hyphen." in alice.vault("account", "rename", "-x").err
    registered = [alice.vault("register", *words, "--no-browser", password=PASSWORD)
                  for words in (["--alias=-x"], ["--alias", "-x"])]
    for result in (renamed, *registered):
        assert result.status == 78 and "no hyphen at its beginning" in result.err, result


def test_when_an_old_alias_looks_like_an_option_then_proposed_commands_parse(anna):
    anna.registered("--no-agent", "--alias", "bob", user="bob")
    anna.sql("UPDATE account SET alias = '-x' WHERE alias = 'bob'")
    result = anna.vault("lock", "--user=-x")
    assert result.out == "-x is locked already. To log in again: vault login --user=-x\n", result
    assert anna.vault("login", "--user=-x", password=PASSWORD).status == 0
    assert anna.vault("lock").out == "Locked -x. To log in again: vault login --user=-x\n"


def test_a_renamed_account_stays_open_in_the_agent(anna):
    assert anna.vault("login", password=PASSWORD).status == 0
    token = anna.vault("token").out
    assert anna.vault("account", "rename", "work").status == 0
    assert anna.vault("token", "--user", "work").out == token
    assert anna.vault("agent", "status").out.splitlines()[-1].startswith("work: open")
