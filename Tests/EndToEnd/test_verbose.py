"""The output of `--verbose`, which contains no secret."""

from support.person import OTHER_PASSWORD, PASSWORD


def test_verbose_tells_what_happens_on_standard_error_and_no_secret(alice):
    token = alice.vault("token", "--refresh", "--verbose", password=PASSWORD)
    assert token.status == 0 and token.out.count("\n") == 1
    for text in [
        "vault: debug: opening the account account=", " unlockMethod=password", "vault: debug: key service: answered call=evaluate status=200",
        "vault: debug: asking for an access token", "token=refresh token", "vault: debug: provider: asking",
        " method=POST", "vault: debug: refreshed",
    ]:
        assert text in token.err, token.err
    for secret in (token.out.strip(), PASSWORD):
        assert secret not in token.err
    wrong = alice.vault("login", "-v", password=OTHER_PASSWORD)
    assert wrong.status == 77 and OTHER_PASSWORD not in wrong.err
    assert "vault: notice: the account was not opened" in wrong.err and "error=wrongSecret" in wrong.err


def test_without_verbose_nothing_is_told(alice):
    result = alice.vault("token", "--refresh", password=PASSWORD)
    assert (result.status, result.err) == (0, "")
