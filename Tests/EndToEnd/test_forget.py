"""`vault logout --everywhere --forget`: the tokens are deleted here, whatever the provider answers."""

import pytest
from support.agent import agent_status
from support.person import OTHER_PASSWORD, PASSWORD

FORGET = ("logout", "--everywhere", "--forget")


@pytest.fixture
def apart(person, own_services, key_service):
    """Alice, with an identity provider and a key service that a test can stop separately, and with an item."""
    person.settings = own_services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url}
    person.registered()
    secret = ("--password-file", person.password_file())
    assert person.vault("item", "set", "note", *secret, input=b"Room 4", stdin=None).status == 0
    return person


def has_tokens(person):
    status = person.vault("status", "--json").json
    return status["has_refresh_token"] or status["has_access_token"]


def test_when_the_provider_is_down_then_the_tokens_are_deleted_here(apart, own_services):
    own_services.kill()
    result = apart.vault(*FORGET, password=PASSWORD)
    assert result.status == 0 and result.out == (
        "Logged out alice on this machine only, and deleted its tokens here. Its items and unlock methods stay. "
        "To register again: vault register\n"), result
    assert "the identity provider did not revoke the refresh token, which may still work: " in result.err
    assert "To end it, use the account pages of " in result.err
    assert not has_tokens(apart)
    own_services.start()
    assert apart.vault("login", password=PASSWORD).status == 83
    # The unlock methods and the items stay.
    assert apart.vault("item", "get", "note", password=PASSWORD).out == "Room 4"
    apart.registered()
    assert apart.vault("item", "get", "note", password=PASSWORD).out == "Room 4"


def test_when_the_provider_is_down_then_json_says_so(apart, own_services):
    own_services.kill()
    result = apart.vault(*FORGET, "--json", password=PASSWORD)
    assert (result.status, result.err) == (0, "")
    assert result.json["logged_out"] and result.json["revoked"] is False and result.json["reason"]
    assert not has_tokens(apart)


def test_when_the_provider_answers_then_it_revokes_the_token(alice):
    result = alice.vault(*FORGET, "--json", password=PASSWORD)
    assert result.status == 0 and result.json == {"logged_out": True, "revoked": True}, result
    assert not has_tokens(alice)


@pytest.mark.parametrize("cause", ["the key service is down", "the password is locked"])
def test_when_the_account_cannot_be_opened_then_the_tokens_are_deleted_all_the_same(apart, key_service, cause):
    if cause == "the key service is down":
        key_service.kill()
    else:
        for _ in range(3):
            assert apart.vault("login", password=OTHER_PASSWORD).status == 77
    result = apart.vault(*FORGET, password=PASSWORD)
    assert result.status == 0 and "did not revoke the refresh token" in result.err, result
    assert not has_tokens(apart)
    # Nobody can try again with a token that is gone.
    assert "Try again" not in result.err and "vault unlock reset" not in result.err, result
    assert "To end it, use the account pages of " in result.err


@pytest.mark.parametrize("options, status", [
    ([], 78), (["--password-file", "/nonexistent/password"], 78), (["--password-fd", "77"], 78),
    (["--recovery-code"], 78),
], ids=["nobody can be asked", "no file", "no descriptor", "a recovery code"])
def test_after_a_slip_the_tokens_stay(alice, options, status):
    before = alice.stored_for_good()
    result = alice.vault(*FORGET, *options)
    assert result.status == status and "Nothing was closed." in result.err, result
    assert alice.stored_for_good() == before


def test_when_the_account_has_no_such_unlock_method_then_the_tokens_stay(alice):
    before = alice.stored_for_good()
    result = alice.vault(*FORGET, "--pin", password=PASSWORD)
    assert result.status == 78 and "Nothing was closed." in result.err, result
    assert alice.stored_for_good() == before


def test_when_the_password_is_wrong_then_the_tokens_stay(alice):
    result = alice.vault(*FORGET, password=OTHER_PASSWORD)
    assert result.status == 77 and "Nothing was closed." in result.err, result
    assert alice.vault("status", "--json").json["has_refresh_token"]
    assert alice.vault("login", password=PASSWORD).status == 0


def test_when_the_agent_holds_the_session_then_nothing_is_asked(apart, own_services, runtime):
    apart.settings["XDG_RUNTIME_DIR"] = str(runtime)
    try:
        assert apart.vault("login", password=PASSWORD).status == 0
        own_services.kill()
        result = apart.vault(*FORGET)
        assert result.status == 0 and "deleted its tokens here" in result.out, result
        assert agent_status(apart)["sessions"] == [] and not has_tokens(apart)
    finally:
        apart.vault("agent", "stop", "--force")


def test_64_forgetting_is_for_everywhere(alice):
    result = alice.vault("logout", "--forget")
    assert result.status == 64 and "--forget needs --everywhere." in result.err, result
