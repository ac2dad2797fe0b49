"""Two hundred programs that request a fresh token of one account at the same moment."""

import json
import re
import subprocess
from urllib.parse import parse_qs

import pytest
from support.memory import available_mebibytes
from support.person import PASSWORD, Person
from support.services import services_behind_a_proxy

PROCESSES = 200
MEMORY_OF_ONE = 72  # MiB: 64 for Argon2id, the rest for the program's own changes
OTHER_TESTS = 2560  # MiB: the other tests, and the compiler


@pytest.fixture
def watched(tmp_path, children):
    """`vault-dev` behind a proxy that records every request. It revokes everything when a client uses a token twice."""
    return services_behind_a_proxy(tmp_path, children)


def presented_tokens(proxy):
    """Returns every refresh token that the token endpoint received."""
    bodies = [body for sent in proxy.sent for body in re.findall(rb"grant_type=refresh_token[^\s]*", bytes(sent))]
    return [parse_qs(body.decode())["refresh_token"][0] for body in bodies]


def generations(services):
    """Returns the number of renewals of each login's refresh token, from the provider's records. Revoked logins are
    absent."""
    state = json.loads((services.folder / "vault-dev" / "identity-provider.json").read_text())
    families = state["families"]
    return [login["generation"] for login in (families.values() if isinstance(families, dict) else families[1::2])]


def test_two_hundred_processes_never_use_a_token_twice(tmp_path, watched, children):
    proxy, services = watched
    alice = Person(tmp_path, services.environment, children).registered()
    # All programs run at once if there is enough memory (16 GiB). Otherwise fewer run at once, so that other tests have
    # memory, too.
    at_once = max(2, min(PROCESSES, int(available_mebibytes() * 0.95 - OTHER_TESTS) // MEMORY_OF_ONE))
    tokens = []
    while len(tokens) < PROCESSES:
        count = min(at_once, PROCESSES - len(tokens))
        command = ("token", "--refresh", "--password-file", "-")
        programs = [alice.start(*command, stdin=subprocess.PIPE) for _ in range(count)]
        # All programs wait for the password, so they start at the same moment.
        for program in programs:
            program.process.stdin.write(PASSWORD.encode())
            program.process.stdin.close()
        results = [program.wait(600) for program in programs]
        assert {(result.status, result.err) for result in results} == {(0, "")}
        tokens += [result.out for result in results]
    assert all(re.fullmatch(r"\S+\n", token) for token in tokens)

    presented = presented_tokens(proxy)
    print(f"{at_once} at once, {len(presented)} refreshes")
    assert presented and len(presented) == len(set(presented)), "a refresh token was used twice"
    # Each token was accepted and renewed, and the login is still valid.
    assert generations(services) == [1 + len(presented)]
    assert len(set(tokens)) == len(presented)
    assert alice.vault("login", password=PASSWORD).status == 0
