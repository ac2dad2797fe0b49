"""`vault doctor` for each account: what would stop its next login, without a secret and without a guess."""

from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import KEY_SERVICE, run
from test_refused import refused  # noqa: F401 (a fixture)


def accounts(person):
    """The checks of the accounts, by account."""
    return {check["user"]: check for check in person.vault("doctor", "--json").json if check["name"] == "account"}


def key_services(person):
    return [check for check in person.vault("doctor", "--json").json if check["name"] == "key service"]


def test_when_an_account_is_well_then_its_check_passes(alice):
    assert accounts(alice)["alice"] == {
        "name": "account", "outcome": "ok", "user": "alice",
        "finding": "alice: Not known to be locked: password. The refresh token is stored."}


def test_when_the_only_unlock_method_is_locked_then_doctor_says_what_to_type(person, key_service):
    person.registered("--key-service", key_service.url)
    for _ in range(2):
        assert person.vault("login", password=OTHER_PASSWORD).status == 77
    before = key_service.keys()
    check = accounts(person)["alice"]
    assert check["outcome"] == "warn" and "password: 1 guess left when last tried, at " in check["finding"], check
    assert check["advice"] == "The right password gives all guesses back: vault login --password --user alice"
    assert key_service.keys() == before, "it cost a guess"
    assert person.vault("login", password=OTHER_PASSWORD).status == 77
    result = person.vault("doctor", "--json")
    check = accounts(person)["alice"]
    assert result.status == 1 and check["outcome"] == "fail", check
    assert "password (locked when vault last asked, at " in check["finding"]
    # The key service has just answered, so vault login would hear the same.
    assert "vault unlock list --user alice" in check["advice"] and "vault login" not in check["advice"], check
    key_service.kill()
    check = accounts(person)["alice"]
    assert "If a key was unlocked since then: vault login --user alice. " in check["advice"], check
    key_service.start()
    # The finding of a person at a terminal is the same.
    assert "No unlock method is known to work: password (locked" in person.vault("doctor").out
    (key,) = key_service.keys()
    assert run([KEY_SERVICE, "keys", "unlock", "--data", key_service.data, key]).status == 0
    assert accounts(person)["alice"]["outcome"] == "ok", "the key service says that the key is open"
    assert key_service.keys()[key]["wrongGuesses"] == 0, "it cost a guess"
    assert person.vault("login", password=PASSWORD).status == 0
    assert accounts(person)["alice"]["outcome"] == "ok"


def test_when_another_method_works_then_a_locked_pin_is_a_warning(person, key_service):
    person.registered("--key-service", key_service.url)
    pin = person.password_file("2846", "new-pin")
    assert person.vault("unlock", "add", "pin", "--new-pin-file", pin, password=PASSWORD).status == 0
    for _ in range(2):
        person.vault("login", "--pin", password="9999")
    check = accounts(person)["alice"]
    assert check["outcome"] == "warn" and "PIN: 1 guess left when last tried, at " in check["finding"], check
    assert check["advice"] == (
        "The right PIN gives all guesses back: vault login --pin --user alice."
        " To make a new PIN: vault unlock add pin --user alice")
    person.vault("login", "--pin", password="9999")
    result = person.vault("doctor")
    assert result.status == 0 and "PIN: locked when vault last asked, at " in result.out, result
    advice = accounts(person)["alice"]["advice"]
    for command in ("vault unlock list", "vault unlock add pin"):
        assert f"{command} --user alice" in advice, advice
    assert "vault login" not in advice, advice


def test_when_the_password_is_locked_then_doctor_names_the_way_to_a_new_one(person, key_service):
    person.registered("--key-service", key_service.url)
    pin = person.password_file("2846", "new-pin")
    assert person.vault("unlock", "add", "pin", "--new-pin-file", pin, password=PASSWORD).status == 0
    for _ in range(3):
        person.vault("login", password=OTHER_PASSWORD)
    check = accounts(person)["alice"]
    assert check["outcome"] == "warn" and "password: locked when vault last asked, at " in check["finding"], check
    assert check["advice"].endswith(" To make a new password: vault passwd --pin --user alice"), check


def test_when_the_provider_refused_the_token_then_doctor_names_the_commands(refused):  # noqa: F811 (a fixture)
    check = accounts(refused)["alice"]
    assert check["outcome"] == "fail" and "The provider refused the stored token at " in check["finding"], check
    assert check["advice"] == (
        "To register again: vault register. If the server refused by mistake, ask it once more:"
        " vault token --refresh --user alice")


def test_when_an_account_has_no_refresh_token_then_doctor_warns(alice):
    assert alice.vault("logout", "--everywhere", password=PASSWORD).status == 0
    check = accounts(alice)["alice"]
    assert (check["outcome"], check["advice"]) == ("warn", "To register again: vault register"), check
    assert "There is no refresh token on this machine." in check["finding"]


def test_when_the_settings_are_others_then_the_command_names_the_provider(alice, services):
    assert alice.vault("logout", "--everywhere", password=PASSWORD).status == 0
    alice.settings["CREDENTIAL_VAULT_ISSUER"] = "https://other.example.com"
    advice = accounts(alice)["alice"]["advice"]
    assert advice == (
        f"To register again: vault register --issuer {services.issuer} --client-id vault-cli"
        f" --key-service {services.key_service}")


def test_when_an_accounts_own_key_service_is_down_then_doctor_fails(person, services, key_service):
    person.registered("--key-service", key_service.url, "--allow-offline")
    assert [check["outcome"] for check in key_services(person)] == ["ok", "ok"]
    key_service.kill()
    own, usual = key_services(person)
    assert person.vault("doctor").status == 1
    assert usual["outcome"] == "ok" and services.key_service in usual["finding"]
    assert own["outcome"] == "fail" and own["finding"].endswith(" Accounts: alice."), own
    assert own["advice"].endswith(" To log in without the key service: vault login --offline --user alice"), own


def test_each_key_service_is_asked_once(person, recorder):
    for user in ("alice", "bob"):
        person.registered("--key-service", f"{recorder.url}", user=user)
    asked = []

    def note(request, send):
        asked.append(request.path)
        return send(request)

    recorder.change = note
    assert person.vault("doctor", "--key-service", f"{recorder.url}/").status == 0
    assert asked.count("/keyservice/v2") == 1, asked


def test_when_a_key_service_is_down_then_advice_is_given_once(person, key_service):
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    person.registered()
    pin = person.password_file("2846", "pin")
    assert person.vault("unlock", "add", "pin", "--new-pin-file", pin, password=PASSWORD).status == 0
    key_service.kill()
    assert person.vault("unlock", "remove", "pin", "--yes").status == 0
    (check,) = key_services(person)
    assert "Try again" not in check["finding"] and check["advice"] == "Check the URL and the network.", check
    (old,) = [check for check in person.vault("doctor", "--json").json if check["name"] == "old keys"]
    assert (old["outcome"], old["advice"]) == ("warn", "When the key service answers again: vault doctor"), old
