"""Results go to standard output, all else to standard error, and JSON on request."""

import json
import re
import shutil
import time
from datetime import datetime, timedelta

import pytest
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import KEY_SERVICE, VAULT, VAULT_COMMAND, VAULT_DEV, clean_environment, run

COMMANDS = [
    "register", "login", "token", "users", "status", "logout", "delete", "passwd", "doctor", "config", "setup",
    "completion", "manual", "config get", "config set", "config path", "userinfo", "account", "account rename",
    "account switch-method", "unlock", "unlock add",
    "unlock list", "unlock rename", "unlock remove", "exec", "helper", "helper install", "helper uninstall", "helper git",
    "helper docker", "helper kubectl", "helper curl", "devices", "devices list", "devices rename", "devices revoke",
    "key-services", "key-services set",
]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_command_has_help(person, command):
    result = person.vault(*command.split(), "--help")
    assert (result.status, result.err) == (0, "")
    assert "USAGE: vault" in result.out
    assert "OVERVIEW:" in result.out


@pytest.mark.parametrize(
    "program, command", [(KEY_SERVICE, c) for c in ["", "serve", "init", "keys list", "keys unlock", "backup", "manual"]]
    + [(VAULT_DEV, ""), (VAULT_DEV, "browse")])
def test_the_other_programs_have_help(program, command):
    result = run([program, *command.split(), "--help"])
    assert (result.status, result.err) == (0, "")
    assert "USAGE:" in result.out


@pytest.mark.parametrize("columns", ["", "30", *map(str, range(51, 91)), "100", "132", "10000"])
def test_the_small_programs_help_is_that_of_the_commands(columns):
    environment = clean_environment(COLUMNS=columns)
    small, whole = (run([program, "--help"], environment) for program in (VAULT, VAULT_COMMAND))
    assert (small.status, small.err, small.out) == (whole.status, whole.err, whole.out)


def test_the_small_program_alone_has_help(tmp_path):
    alone = shutil.copy(VAULT, tmp_path)
    for option in ("--help", "-h"):
        result = run([alone, option])
        assert (result.status, result.err) == (0, "") and result.out == run([VAULT_COMMAND, "--help"]).out
    assert run([alone, "users"]).status == 1


def commands_below(command):
    yield command
    for below in command.get("subcommands", []):
        yield from commands_below(below)


@pytest.mark.parametrize("program", [VAULT_COMMAND, KEY_SERVICE, VAULT_DEV])
def test_no_two_options_of_a_command_have_one_name(program):
    # The argument parser checks this itself, but only in a build for debugging.
    whole = json.loads(run([program, "--experimental-dump-help"]).out)["command"]
    for command in commands_below(whole):
        arguments = command.get("arguments", [])
        names = [(name["kind"], name["name"]) for argument in arguments for name in argument.get("names", [])]
        assert len(names) == len(set(names)), command["commandName"]
        positional = [argument for argument in arguments if argument["kind"] == "positional"]
        assert not any(argument["isRepeating"] for argument in positional[:-1]), command["commandName"]


def test_help_fits_into_the_terminal(person):
    terminal = person.terminal("--help", columns=60)
    assert terminal.end() == 0
    whole = run([VAULT_COMMAND, "--help"], clean_environment(COLUMNS="60"))
    assert terminal.shown.replace("\r", "").lstrip("\n") == whole.out


def test_token_prints_the_token_and_nothing_else(alice):
    result = alice.vault("token", password=PASSWORD)
    assert (result.status, result.err) == (0, "")
    assert re.fullmatch(r"[\x21-\x7e]{20,}\n", result.out)


def test_a_valid_token_is_kept_and_a_new_one_is_had_on_request(alice):
    first = alice.vault("token", password=PASSWORD).out
    assert alice.vault("token", password=PASSWORD).out == first
    assert alice.vault("token", "--refresh", password=PASSWORD).out != first
    # vault-dev's tokens are valid for 300 seconds.
    second = alice.vault("token", password=PASSWORD).out
    assert alice.vault("token", "--min-valid", "3600", password=PASSWORD).out not in (first, second)


def test_the_address_to_open_stands_alone_on_standard_error(person):
    result = person.register("--json")
    assert result.status == 0
    assert result.json["preferred_username"] == "alice"
    assert re.fullmatch(r"http://\S+\n", result.err)


def test_every_result_is_available_as_json(alice, services):
    issuer = services.issuer

    def json(*arguments, **options):
        result = alice.vault(*arguments, "--json", **options)
        assert (result.status, result.err) == (0, ""), result
        return result.json

    (user,) = json("users")
    assert user["issuer"] == issuer and user["email"] == "alice@example.com" and user["unlock_methods"] == ["password"]
    login = json("login", password=PASSWORD)
    assert login["issuer"] == issuer and login["subject"] == user["subject"]
    token = json("token", password=PASSWORD)
    assert token.keys() == {"access_token", "expires_at", "scope", "token_type"}
    assert token["token_type"] == "Bearer" and "offline_access" in token["scope"].split()
    seconds = time.mktime(time.strptime(token["expires_at"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone - time.time()
    assert 0 < seconds <= 301
    status = json("status")
    assert status["has_refresh_token"] and status["has_access_token"] and status["account"] == user
    new = alice.password_file(OTHER_PASSWORD, "new")
    assert json("passwd", "--new-password-file", new, password=PASSWORD) == {"changed": True, "dropped": [], "kept": []}
    assert {check["outcome"] for check in json("doctor")} <= {"ok", "warn"}
    assert json("config", "get")["issuer"] == issuer
    assert json("config", "path")["path"].endswith("/credential-vault/config.json")
    assert json("config", "set", "scopes", "openid offline_access") == {"scopes": "openid offline_access"}
    assert json("logout") == {"logged_out": True}
    assert not json("status")["has_access_token"]
    assert json("logout", "--everywhere", password=OTHER_PASSWORD)["revoked"] is True
    assert json("delete", "--yes")["deleted"] is True
    assert json("users") == []


@pytest.mark.parametrize(
    "arguments, status, code",
    [
        (["login", "--user", "nobody"], 66, "accountNotFound"),
        (["login", "--nonsense"], 64, "usage"),
        (["token", "--min-valid", "-1"], 64, "usage"),
        (["login", "--password-file", "/nonexistent"], 78, "configurationInvalid"),
        (["config", "get", "home-town"], 64, "usage"),
        (["register", "--issuer", "http://login.example.com"], 78, "configurationInvalid"),
    ])
def test_errors_are_json_on_standard_error(alice, arguments, status, code):
    given = PASSWORD if "--password-file" not in arguments else None
    result = alice.vault(*arguments, "--json", password=given if arguments[0] in ("login", "register") else None)
    assert (result.status, result.out) == (status, "")
    assert result.error["code"] == code and result.error["message"]


def test_a_wrong_password_as_json_tells_the_guesses_left(alice):
    for left in (2, 1, 0):
        result = alice.vault("login", "--json", password="not the password")
        assert result.status == 77
        assert (result.error["code"], result.error["guesses_remaining"]) == ("wrongSecret", left)
    result = alice.vault("login", "--json", password=PASSWORD)
    assert (result.status, result.error["code"]) == (80, "keyLocked")


def test_two_accounts_that_match_are_both_listed(alice):
    alice.registered(user="bob")
    alice.sql("UPDATE account SET preferred_username = 'alice@example.com' WHERE preferred_username = 'bob'")
    result = alice.vault("status", "--user", "alice@example.com", "--json")
    assert (result.status, result.error["code"]) == (66, "accountAmbiguous")
    subjects = {user["subject"] for user in alice.vault("users", "--json").json}
    assert {account["subject"] for account in result.error["accounts"]} == subjects
    assert alice.vault("status", "--json").error["code"] == "accountAmbiguous"


def test_an_alias_wins_over_a_user_name_that_a_server_sends(alice):
    alice.registered("--alias", "work", user="bob")
    alice.sql("UPDATE account SET preferred_username = 'work' WHERE alias IS NULL")
    result = alice.vault("status", "--user", "work", "--json")
    assert (result.status, result.json["account"]["preferred_username"]) == (0, "bob")


@pytest.mark.parametrize("arguments", [["users"], ["status"], ["doctor"], ["config", "get"], ["--help"]])
def test_no_escape_sequences_without_a_terminal(alice, arguments):
    result = alice.vault(*arguments)
    assert result.status == 0
    assert "\x1b" not in result.out + result.err


def test_nothing_but_the_result_on_a_dumb_terminal(alice):
    for setting in ({"TERM": "dumb"}, {"NO_COLOR": "1"}):
        terminal = alice.terminal("login", env=setting)
        terminal.expect("Password of alice: ")
        terminal.type(PASSWORD)
        assert terminal.end() == 0
        assert "\x1b[3" not in terminal.shown
        assert setting != {"TERM": "dumb"} or "\x1b" not in terminal.shown


def test_control_characters_of_a_stored_name_do_not_reach_the_terminal(alice):
    alice.sql("UPDATE account SET alias = ?", "evil\x1b]0;title\x07")
    for command in ("users", "status"):
        result = alice.vault(command)
        assert result.status == 0 and "\x1b" not in result.out and "\x07" not in result.out
    assert "\x1b" not in alice.vault("login", password=PASSWORD).out


def test_a_reader_that_goes_away_is_no_crash(alice):
    result = run(["bash", "-c", '"$0" status | true; exit ${PIPESTATUS[0]}', VAULT], alice.environment())
    assert (result.status, result.err) == (0, "")


def to_full_disk(program, *arguments, env=None, password=None):
    """Runs a program whose standard output is on a full disk."""
    return run(["bash", "-c", 'exec "$0" "$@" > /dev/full', program, *arguments], env, password)


UNWRITTEN = "The output could not be written: No space left on device."


@pytest.mark.parametrize("arguments, needs_password", [
    (["token"], True), (["token", "--proof", "GET https://api.example.com/"], True), (["helper", "kubectl"], True),
    (["helper", "curl"], True), (["userinfo"], True), (["login"], True), (["item", "get", "note"], True),
    (["status"], False), (["users"], False), (["item", "list"], False), (["unlock", "list"], False),
    (["doctor"], False), (["config", "get"], False), (["completion", "bash"], False), (["manual"], False),
    (["--help"], False), (["token", "--help"], False), (["--version"], False), (["agent", "status"], False),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_when_the_output_is_full_then_the_status_is_74(alice, arguments, needs_password):
    if arguments[0] == "item":
        word = ["item", "set", "note", "--password-file", alice.password_file()]
        assert run([VAULT, *word], alice.environment(), b"a note").status == 0
    given = ["--password-file", alice.password_file()] if needs_password else []
    result = to_full_disk(VAULT, *arguments, *given, env=alice.environment())
    assert result.status == 74 and f"vault: {UNWRITTEN}" in result.err, result


@pytest.mark.parametrize("arguments", [["token"], ["status"], ["users"]], ids=" ".join)
def test_when_json_cannot_be_written_then_the_error_is_json(alice, arguments):
    given = ["--password-file", alice.password_file()] if arguments == ["token"] else []
    result = to_full_disk(VAULT, *arguments, "--json", *given, env=alice.environment())
    assert (result.status, result.error["code"]) == (74, "outputUnwritten"), result
    assert result.error["message"] == UNWRITTEN


def test_when_the_output_is_full_then_vault_dev_does_not_run(tmp_path):
    for arguments in (["--data", tmp_path / "dev"], ["--help"]):
        result = to_full_disk(VAULT_DEV, *arguments)
        assert result.status == 74 and UNWRITTEN in result.err, result


def test_doctor_says_what_is_wrong_and_fails(alice):
    result = alice.vault("doctor", "--json", "--issuer", "http://127.0.0.1:1")
    assert result.status == 1
    (check,) = [check for check in result.json if check["name"] == "issuer"]
    assert check["outcome"] == "fail" and check["finding"] and check["advice"]


def test_help_without_arguments(person):
    result = person.vault()
    assert result.status == 0
    assert "SUBCOMMANDS:" in result.out


@pytest.mark.parametrize("program, typed, meant", [
    (VAULT, "tokn", "token"), (VAULT, "regsiter --alias work", "register"), (VAULT, "doc", "doctor"),
    (VAULT, "unlock lst", "unlock list"), (VAULT, "agent strat", "agent start"),
    (VAULT, "config gte issuer", "config get"), (KEY_SERVICE, "sreve --data keys", "serve"),
    (KEY_SERVICE, "keys unlok", "keys unlock")])
def test_a_mistyped_command_is_recognized(person, program, typed, meant):
    name = program.rsplit("/", 1)[1]
    command = " ".join(typed.split()[:len(meant.split())])
    words = f'There is no command "{command}". Did you mean "{name} {meant}"?'
    result = run([program, *typed.split()], person.environment())
    assert (result.status, result.out, result.err) == (64, "", f"{name}: {words}\n")
    if program == VAULT:
        error = person.vault(*typed.split(), "--json").error
        assert error == {"code": "usage", "message": words}


def test_what_is_like_no_command_is_not_guessed(person):
    assert person.vault("frobnicate").err == 'vault: There is no command "frobnicate". See: vault --help\n'
    result = person.vault("unlock", "x" * 100_000)
    assert result.status == 64 and "Did you mean" not in result.err


@pytest.mark.parametrize("command", [["login"], ["token"], ["unlock", "list"], ["item", "get", "note"]], ids=" ".join)
def test_when_an_account_is_named_without_the_option_then_the_option_is_proposed(person, command):
    words = "Unexpected argument 'bob'. For an account: --user bob"
    result = person.vault(*command, "bob")
    assert result.status == 64 and result.err.startswith(f"vault: {words}\n"), result
    assert person.vault(*command, "bob", "--json").error["message"] == words
    assert "--user" not in person.vault("doctor", "bob").err
    assert "For an account: --user 'Bob B; ls'\n" in person.vault(*command, "Bob B; ls").err


def test_an_option_is_proposed_only_if_it_is_similar(person):
    near, far = (person.vault("token", option, "alice").err.splitlines()[0] for option in ("--usr", "--bad"))
    assert near == "vault: Unknown option '--usr'. Did you mean '--user'?"
    assert far == "vault: Unknown option '--bad'"


def test_times_are_local_for_people_and_utc_in_json(alice):
    zone = {"TZ": "AAA-5"}
    out = alice.vault("login", password=PASSWORD, env=zone).out
    said = datetime.fromisoformat(re.search(r"valid until (\S+ \S+) AAA\.$", out, re.M)[1])
    end = alice.vault("status", "--json", env=zone).json["access_token_expires_at"]
    assert said - datetime.fromisoformat(end.removesuffix("Z")) == timedelta(hours=5)
    assert f"valid until {said} AAA\n" in alice.vault("status", env=zone).out
    assert len(re.findall(r"\d\d:\d\d:\d\d AAA", alice.vault("unlock", "list", env=zone).out)) == 2


def test_a_terminal_without_utf_8_gets_ascii(alice):
    result = alice.vault("doctor", "--issuer", "http://127.0.0.1:1", env={"LC_ALL": "C"})
    assert result.status == 1 and result.out.isascii() and " -> Check the network" in result.out
    assert " → Check the network" in alice.vault("doctor", "--issuer", "http://127.0.0.1:1").out
