"""How the command follows the machine's policy, /etc/credential-vault/policy.json."""

import os
from pathlib import Path

import pytest
from support.agent import agent_status
from support.machine import POLICY, Machine
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import VAULT, run
from support.terminal import Terminal

pytestmark = pytest.mark.skipif(not Machine.is_possible(), reason="a private /etc needs a mount namespace")

PIN = "284617"
PASSPHRASE = "tangerine-42-umbrella-at-noon"


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def person(person, machine):
    person.disk = machine
    return person


def add_pin(person, pin, *arguments):
    return person.vault(
        "unlock", "add", "pin", "--new-pin-file", person.password_file(pin, "pin"), *arguments, password=PASSWORD)


def policy_check(person):
    (check,) = [check for check in person.vault("doctor", "--json").json if check["name"] == "policy"]
    return check["outcome"], check["finding"], check.get("advice")


def test_85_new_secrets_have_to_be_as_long_as_the_policy_says(alice, machine):
    machine.set_policy(minimum_pin_length=6, minimum_password_length=24)
    for pin, status, text in [
        ("28461", 85, "The PIN is too short. It needs at least 6 characters. Choose another one."),
        ("123456", 77, "The PIN is a run: its digits go up or down in equal steps (0 follows 9), such as"),
    ]:
        result = add_pin(alice, pin)
        assert (result.status, result.out) == (status, "") and text in result.err
    assert add_pin(alice, "28461", "--json").error["code"] == "forbiddenByPolicy"
    new = alice.password_file(OTHER_PASSWORD, "new")
    result = alice.vault("passwd", "--new-password-file", new, password=PASSWORD)
    assert result.status == 85
    assert "The password is too short. It needs at least 24 characters. Choose another one." in result.err
    assert [slot["kind"] for slot in alice.vault("unlock", "list", "--json").json] == ["password"]
    # Old secrets still open the account, and a secret that is long enough is accepted.
    assert alice.vault("login", password=PASSWORD).status == 0
    assert add_pin(alice, PIN).status == 0
    new = alice.password_file(PASSPHRASE, "new")
    assert alice.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    assert alice.vault("login", password=PASSPHRASE).status == 0


def test_nobody_goes_to_the_browser_for_a_password_that_is_too_short(person, machine):
    machine.set_policy(minimum_password_length=24)
    result = person.register()
    assert result.status == 85 and "at least 24 characters" in result.err
    assert "http" not in result.err
    person.registered(password=PASSPHRASE)


def test_at_a_terminal_the_person_hears_the_length_and_chooses_again(alice, machine):
    machine.set_policy(minimum_pin_length=6)
    terminal = alice.keep(Terminal(machine.enter(VAULT, "unlock", "add", "pin"), alice.environment(TERM="xterm")))
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    terminal.expect("New PIN (at least 6 characters): ")
    terminal.type("28461")
    terminal.expect("The PIN is too short. It needs at least 6 characters. Choose another one.")
    terminal.expect("New PIN (at least 6 characters): ")
    terminal.type(PIN)
    terminal.expect("The same again: ")
    terminal.type(PIN)
    assert terminal.end() == 0


@pytest.mark.parametrize("allowed, arguments, kind", [
    (["password"], ["unlock", "add", "pin"], "pin"),
    (["password"], ["unlock", "add", "recovery"], "recovery"),
    (["password"], ["unlock", "add", "offline", "--yes"], "offline"),
    (["password"], ["unlock", "add", "tpm2"], "tpm2"),
    (["password", "tpm2"], ["unlock", "add", "tpm2", "--opens-offline", "--yes"], "offline"),
    (["password"], ["login", "--pin"], "pin"), (["password"], ["login", "--offline"], "offline"),
    (["password"], ["token", "--recovery-code"], "recovery"), (["pin"], ["login"], "password"),
    (["pin"], ["passwd", "--pin"], "password"),
])
def test_85_what_the_policy_forbids_is_neither_added_nor_used(alice, machine, allowed, arguments, kind):
    before = alice.stored()
    machine.set_policy(allowed_unlock_methods=allowed)
    result = alice.vault(*arguments, password=PASSWORD)
    assert (result.status, result.out) == (85, "")
    assert f"forbids this unlock method: {kind}. It allows: {', '.join(allowed)}." in result.err
    assert alice.stored() == before
    machine.remove_policy()
    assert alice.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("arguments, kind", [
    (["unlock", "add", "desktop", "--yes"], "desktop"), (["login", "--desktop"], "desktop"),
    (["unlock", "add", "recovery"], "recovery"), (["unlock", "add", "offline", "--yes"], "offline"),
])
def test_85_one_word_forbids_an_unlock_method(alice, machine, arguments, kind):
    machine.set_policy(forbidden_unlock_methods=[kind])
    result = alice.vault(*arguments, password=PASSWORD)
    assert (result.status, result.out) == (85, "")
    assert f"forbids this unlock method: {kind}. To see the policy: vault doctor --verbose" in result.err
    # The other unlock methods work.
    assert add_pin(alice, PIN).status == 0
    assert alice.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("allowed, arguments", [
    (["pin"], []), (["password"], ["--allow-offline"]), (["password"], ["--recovery-code"]),
])
def test_85_a_registration_that_the_policy_forbids_opens_no_browser(person, machine, allowed, arguments):
    machine.set_policy(allowed_unlock_methods=allowed)
    result = person.register(*arguments)
    assert result.status == 85 and "http" not in result.err
    machine.remove_policy()
    assert person.vault("users", "--json").json == []


@pytest.mark.parametrize("rule, setting", [
    ("allowed_issuers", "CREDENTIAL_VAULT_ISSUER"), ("allowed_key_services", "CREDENTIAL_VAULT_KEY_SERVICE")])
def test_85_servers_that_the_policy_does_not_name_are_not_used(person, machine, rule, setting):
    own, other = person.settings[setting], "https://login.example.com"
    name = rule.replace("_", "-")
    machine.set_policy(**{rule: [other]})
    result = person.register()
    assert result.status == 85 and f"The rule {name} (in {POLICY}, or of the app) allows: {other}." in result.err
    assert own in result.err and "authorize" not in result.err
    machine.set_policy(**{rule: [own, other]})
    person.registered()
    assert person.vault("login", password=PASSWORD).status == 0
    assert person.vault("status", "--json").json.get("forbidden_by") is None
    # The rule also applies to existing accounts.
    machine.set_policy(**{rule: [other]})
    before = person.stored()
    new = person.password_file(OTHER_PASSWORD, "new")
    for arguments in (["login"], ["token"], ["passwd", "--new-password-file", new], ["unlock", "add", "offline", "--yes"]):
        result = person.vault(*arguments, password=PASSWORD)
        assert (result.status, result.out) == (85, "") and f"The rule {name} " in result.err, result
    # The command asks for no password if the account cannot open.
    result = person.vault("login")
    assert result.status == 85
    assert person.stored() == before
    assert person.vault("status", "--json").json["forbidden_by"] == name
    assert f"Policy:         forbids this account ({name})\n" in person.vault("status").out
    outcome, finding, advice = policy_check(person)
    assert outcome == "warn" and finding.endswith(f": {other}.") and "The policy does not allow the" in advice
    machine.remove_policy()
    assert person.vault("login", password=PASSWORD).status == 0


def test_85_an_import_goes_to_no_other_server(alice, machine, tmp_path):
    file, secrets = tmp_path / "backup", [alice.password_file(PASSWORD, name) for name in ("passphrase", "new")]
    exported = alice.vault("export", "--to", file, "--passphrase-file", secrets[0], password=PASSWORD)
    assert exported.status == 0, exported
    machine.set_policy(allowed_key_services=["https://keys.corp.example"])
    alice.vault("delete", "--yes")
    result = alice.vault("import", file, "--passphrase-file", secrets[0], "--new-password-file", secrets[1])
    assert result.status == 85 and "allowed-key-services" in result.err, result
    assert alice.vault("users", "--json").json == []


def test_the_limits_of_a_session_are_shown(alice, machine):
    assert "Policy:         allows this account\n" in alice.vault("status").out
    machine.set_policy(maximum_idle_minutes=15, maximum_session_hours=1)
    words = "after 15 minutes without use, and 1 hour after the login"
    assert policy_check(alice)[1].endswith(f"A session ends {words}.")
    assert f"Policy:         a session ends {words}\n" in alice.vault("status").out
    status = alice.vault("status", "--json").json
    assert (status["maximum_idle_minutes"], status["maximum_session_hours"]) == (15, 1)


def test_the_policy_is_stricter_than_the_option_for_days_without_the_network(person, machine):
    person.registered("--allow-offline")
    person.sql("UPDATE account SET last_online_at = last_online_at - 2 * 86400")
    assert person.vault("login", "--offline", password=PASSWORD).status == 0  # this login reached the network again
    person.sql("UPDATE account SET last_online_at = last_online_at - 2 * 86400")
    machine.set_policy(maximum_offline_days=1)
    result = person.vault("login", "--offline", "--offline-max-age", "30", password=PASSWORD)
    assert result.status == 83 and "The policy allows 1 day. Connect to the network" in result.err
    assert person.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("text, mode, says", [
    ("{", 0o644, "It is not one JSON object"), ('{"minimum-pin-size": 6}', 0o644, 'does not know the name "minimum-pin-size"'),
    ('{"minimum-pin-length": "6"}', 0o644, "minimum-pin-length has to be a whole number from 1 to 64"),
    ("{}", 0o666, f"chown root {POLICY} && chmod 644 {POLICY}"),
])
def test_78_a_policy_that_cannot_be_used_is_not_passed_over(alice, machine, text, mode, says):
    machine.set_policy(text, mode)
    for arguments in (["users"], ["login"]):
        result = alice.vault(*arguments, password=PASSWORD if arguments == ["login"] else None)
        assert (result.status, result.out) == (78, "")
        assert f"The policy file {POLICY} cannot be used" in result.err and says in result.err
    outcome, finding, _ = policy_check(alice)
    assert outcome == "fail" and says in finding
    machine.remove_policy()
    assert alice.vault("login", password=PASSWORD).status == 0


def test_no_variable_leads_past_the_policy(alice, machine):
    machine.set_policy(allowed_unlock_methods=["pin"])
    for name in ("CREDENTIAL_VAULT_POLICY", "CREDENTIAL_VAULT_POLICY_FILE", "VAULT_POLICY"):
        assert alice.vault("login", password=PASSWORD, env={name: "/dev/null"}).status == 85


def test_doctor_shows_the_policy(alice, machine):
    standard = "New PINs: at least 4 characters. New passwords: at least 8. "
    assert policy_check(alice) == (
        "ok", f"There is no file {POLICY}. {standard}Longest time without the network: 14 days. Unlock methods: all.", None)
    machine.set_policy(minimum_pin_length=6, maximum_offline_days=3, allowed_unlock_methods=["pin", "password"])
    outcome, finding, _ = policy_check(alice)
    assert (outcome, finding) == (
        "ok", f"{POLICY} applies. New PINs: at least 6 characters. New passwords: at least 8. "
        "Longest time without the network: 3 days. Unlock methods: password, pin.")
    # A policy cannot make a rule less strict.
    machine.set_policy(minimum_pin_length=1, minimum_password_length=1)
    assert standard in policy_check(alice)[1]
    machine.set_policy(allowed_unlock_methods=["password", "passwrod"])
    assert policy_check(alice)[::2] == (
        "warn", "allowed-unlock-methods has names that this program does not know: passwrod. Correct them.")
    machine.set_policy(forbidden_unlock_methods=["offline", "desktop"])
    assert "Unlock methods: all but desktop, offline." in policy_check(alice)[1]
    machine.set_policy(allowed_unlock_methods=["password", "desktop"], forbidden_unlock_methods=["desktop", "desktpo"])
    outcome, finding, advice = policy_check(alice)
    assert "Unlock methods: password." in finding
    assert (outcome, advice) == (
        "warn", "forbidden-unlock-methods has names that this program does not know: desktpo. Correct them.")
    machine.set_policy(allowed_unlock_methods=["pin"])
    assert policy_check(alice)[::2] == (
        "warn", "Nobody can register an account. To allow that, add password to allowed-unlock-methods.")


def test_a_way_in_that_the_policy_forbids_is_not_called_ready(alice, machine):
    assert add_pin(alice, PIN).status == 0
    machine.set_policy(allowed_unlock_methods=["password"])
    states = {way["kind"]: way["state"] for way in alice.vault("unlock", "list", "--json").json}
    assert states == {"password": "usable", "pin": "forbidden"}


def test_when_the_policy_changes_then_an_open_session_obeys(anna, machine):
    assert anna.vault("login", "--idle-timeout", "0", "--session-lifetime", "0", password=PASSWORD).status == 0
    assert anna.vault("token").status == 0
    machine.set_policy(maximum_idle_minutes=3, maximum_session_hours=1)
    assert anna.vault("token").status == 0
    (session,) = agent_status(anna)["sessions"]
    assert session["idle_left"] <= 180 and session["lifetime_left"] <= 3600
    machine.set_policy(allowed_issuers=["https://login.example.com"])
    result = anna.vault("token")
    assert (result.status, result.out) == (85, "") and "The rule allowed-issuers" in result.err, result
    assert agent_status(anna)["sessions"] == []
    machine.remove_policy()
    assert anna.vault("token").status == 78  # no terminal for a question
    assert anna.vault("agent", "unlock", password=PASSWORD).status == 0
    assert anna.vault("token").status == 0


BROKEN = '{"minimum-pin": 6}'


def test_78_under_a_broken_policy_an_open_session_hands_out_nothing(anna, machine):
    assert anna.vault("login", password=PASSWORD).status == 0
    machine.set_policy(BROKEN)
    for arguments in (["token"], ["token", "--user", "alice"], ["users"], ["item", "list"], ["userinfo"]):
        result = anna.vault(*arguments)
        assert (result.status, result.out) == (78, "") and "cannot be used" in result.err, result
    machine.remove_policy()
    assert anna.vault("token").status == 0


@pytest.mark.parametrize("arguments", [["lock"], ["logout"], ["logout", "--everywhere"]])
def test_under_a_broken_policy_a_session_can_still_be_closed(anna, machine, arguments):
    assert anna.vault("login", password=PASSWORD).status == 0
    machine.set_policy(BROKEN)
    result = anna.vault(*arguments, password=PASSWORD if "--everywhere" in arguments else None)
    # To revoke the token, the account must be opened.
    assert result.status == (78 if "--everywhere" in arguments else 0), result
    assert agent_status(anna)["sessions"] == []
    if "logout" in arguments:
        assert anna.sql("SELECT 1 FROM item WHERE name = 'vault/access-token'") == []
    machine.remove_policy()
    assert anna.vault("token").status == 78
    assert anna.vault("login", password=PASSWORD).status == 0


def test_a_login_removes_a_forbidden_way_without_the_network(person, machine):
    person.registered("--allow-offline")
    machine.set_policy(allowed_unlock_methods=["password"])
    result = person.vault("login", password=PASSWORD)
    assert result.status == 0, result
    assert "vault: The policy of this machine forbids the password without the network. This unlock method was removed.\n" in result.err
    assert [slot["kind"] for slot in person.vault("unlock", "list", "--json").json] == ["password"]
    machine.remove_policy()
    assert person.vault("login", "--offline", password=PASSWORD).status == 78
    assert person.vault("unlock", "add", "offline", "--yes", password=PASSWORD).status == 0
    machine.set_policy(allowed_unlock_methods=["password"])
    assert person.vault("login", "--json", password=PASSWORD).json["unlock_methods_removed"] == [{"unlock_method": "offline"}]


IS_WHOLE = Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]


@pytest.mark.skipif(os.geteuid() != 0 or not IS_WHOLE, reason="only root sees the machine's policy as it is")
@pytest.mark.parametrize("arguments", [
    ["unlock", "add", "offline", "--yes"], ["unlock", "add", "pin", "--new-pin-file", "{pin}"],
    ["passwd", "--new-password-file", "{new}"]])
@pytest.mark.parametrize("shown", [None, "{}"])
def test_85_where_the_policy_is_hidden_no_way_in_is_added(alice, machine, arguments, shown):
    machine.set_policy(minimum_pin_length=8, allowed_unlock_methods=["password", "pin"])
    assert alice.vault("login", password=PASSWORD).status == 0
    before = alice.stored_for_good()
    files = {"pin": alice.password_file(PIN, "pin"), "new": alice.password_file(OTHER_PASSWORD, "new")}
    arguments = [word.format(**files) for word in arguments]
    # What each user can do: become root in a namespace of one's own, and put another folder over the policy's.
    hide = 'mount -t tmpfs -o mode=755 none /etc/credential-vault && { test -z "$0" || echo "$0" > "$1"; } && shift && exec "$@"'
    command = machine.enter(
        "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", hide, shown or "", POLICY, VAULT, *arguments,
        "--password-file", "-")
    result = run(command, alice.environment(), PASSWORD)
    assert (result.status, result.out) == (85, "") and "user namespace" in result.err, result
    assert alice.stored_for_good() == before
    # When the administrator removes the policy, everything works again.
    machine.remove_policy()
    assert alice.vault("login", password=PASSWORD).status == 0
    assert run(machine.enter("unshare", "--user", "--map-root-user", VAULT, *arguments, "--password-file", "-"),
               alice.environment(), PASSWORD).status == 0
