"""The behaviour of Glewlwyd that the command's tests rely on, in plain HTTP. If a later version differs, these tests
show the reason."""

import pytest
import requests
from support.glewlwyd import CLIENT
from support.oauth import DEVICE_CODE, Client, DPoPKey, claims
from support.waiting import wait_until


@pytest.fixture
def modern(glewlwyd):
    """The public client at the instance "modern"."""
    return Client(glewlwyd.modern, CLIENT, glewlwyd.redirect_uri)


@pytest.fixture
def bound(glewlwyd):
    """The same client with a DPoP key."""
    return Client(glewlwyd.modern, CLIENT, glewlwyd.redirect_uri, DPoPKey())


def log_in(glewlwyd, client, **more):
    callback = glewlwyd.callback(client.authorization_url(client.authorization(**more)))
    answer = client.redeem(callback)
    assert answer.status_code == 200, answer.text
    return answer.json()


def log_in_pushed(glewlwyd, client, **more):
    pushed = client.post("pushed_authorization_request_endpoint", client.authorization(**more))
    assert pushed.status_code == 201, pushed.text
    return client.authorization_url({"client_id": CLIENT, "request_uri": pushed.json()["request_uri"]})


def error(answer):
    return answer.status_code, answer.json()["error"]


def test_a_dead_refresh_token_is_answered_with_nothing(glewlwyd):
    client = Client(glewlwyd.issuer, CLIENT, glewlwyd.redirect_uri)
    answer = client.refresh("x" * 128)
    assert (answer.status_code, answer.text) == (400, "")


def test_what_is_announced(glewlwyd, modern):
    plain = Client(glewlwyd.issuer, CLIENT, glewlwyd.redirect_uri).metadata
    strict = Client(glewlwyd.strict, CLIENT, glewlwyd.redirect_uri).metadata
    names = {"device_authorization_endpoint", "registration_endpoint", "pushed_authorization_request_endpoint",
             "dpop_signing_alg_values_supported"}
    assert names <= modern.metadata.keys() and not names & plain.keys()
    assert "ES256" in modern.metadata["dpop_signing_alg_values_supported"]
    assert DEVICE_CODE in modern.metadata["grant_types_supported"]
    assert strict["require_pushed_authorization_requests"] is True
    assert modern.metadata["require_pushed_authorization_requests"] is False
    # There is no other metadata document, and no "iss" in the redirect.
    for url in (f"{glewlwyd.modern}/.well-known/oauth-authorization-server",
                f"{glewlwyd.base}/.well-known/oauth-authorization-server/api/modern"):
        assert requests.get(url, timeout=10).status_code == 404
    assert "iss=" not in glewlwyd.callback(modern.authorization_url(modern.authorization()))


@pytest.mark.parametrize("key", [None, DPoPKey()], ids=["bearer", "DPoP"])
def test_device_code(glewlwyd, modern, key):
    modern.key = key
    answer = modern.post("device_authorization_endpoint", {"scope": "openid profile offline_access"}, key)
    device = answer.json()
    assert (answer.status_code, device["expires_in"], device["interval"]) == (200, 600, 1)
    assert device["verification_uri_complete"] == f"{device['verification_uri']}?code={device['user_code']}"

    def poll():
        return modern.post("token_endpoint", {"grant_type": DEVICE_CODE, "device_code": device["device_code"]}, key)

    assert error(poll()) == (400, "authorization_pending")
    # On a slow machine, a poll may come after the interval.
    assert (400, "slow_down") in [error(poll()) for _ in range(5)]
    assert glewlwyd.visit(device["verification_uri_complete"]).url.endswith("prompt=deviceComplete")
    tokens = wait_until(lambda: (answer := poll()).status_code == 200 and answer.json(), "the tokens")
    assert claims(tokens["id_token"])["aud"] == CLIENT
    assert tokens["token_type"] == ("DPoP" if key else "bearer")
    assert modern.refresh(tokens["refresh_token"]).status_code == 200
    assert poll().status_code == 400


def test_registration(glewlwyd, modern):
    def register(**more):
        content = {
            "client_name": "Vault", "redirect_uris": [glewlwyd.redirect_uri], "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            "application_type": "native", "client_confidential": False} | more
        content = {name: value for name, value in content.items() if value is not None}
        return requests.post(modern.metadata["registration_endpoint"], json=content, timeout=10)

    answer = register()
    client = answer.json()
    assert answer.status_code == 200 and "client_secret" not in client  # RFC 7591 says 201
    read = requests.get(client["registration_client_uri"], timeout=10, headers={
        "Authorization": f"Bearer {client['registration_access_token']}"})
    assert read.status_code == 200
    own = Client(glewlwyd.modern, client["client_id"], glewlwyd.redirect_uri)
    tokens = log_in(glewlwyd, own)
    assert own.refresh(tokens["refresh_token"]).status_code == 200

    # Without Glewlwyd's own member, the client counts as confidential, with every authentication method. It gets no
    # secret, so nobody can use it.
    unusable = Client(
        glewlwyd.modern, register(client_confidential=None).json()["client_id"], glewlwyd.redirect_uri)
    callback = glewlwyd.callback(unusable.authorization_url(unusable.authorization()))
    assert error(unusable.redeem(callback)) == (403, "unauthorized_client")
    # Glewlwyd has its own name for RFC 8628's grant.
    assert error(register(grant_types=["authorization_code", DEVICE_CODE])) == (400, "invalid_client_metadata")
    for_device = register(grant_types=["authorization_code", "refresh_token", "device_authorization"]).json()
    answer = modern.post("device_authorization_endpoint", {"scope": "openid", "client_id": for_device["client_id"]})
    assert answer.status_code == 200
    # A confidential client gets a secret. Custom schemes and ports other than the registered one are refused.
    confidential = register(token_endpoint_auth_method="client_secret_basic", client_confidential=True).json()
    assert confidential["client_secret"]
    assert error(register(redirect_uris=["com.example.app:/callback"])) == (400, "invalid_redirect_uri")
    any_port = Client(
        glewlwyd.modern, register(redirect_uris=["http://127.0.0.1/callback"]).json()["client_id"],
        glewlwyd.redirect_uri)
    assert glewlwyd.callback(any_port.authorization_url(any_port.authorization())) is None


def test_pushed_authorization_requests(glewlwyd, modern):
    url = log_in_pushed(glewlwyd, modern)
    assert modern.redeem(glewlwyd.callback(url)).status_code == 200
    assert glewlwyd.callback(url) is None  # usable only once
    wrong = modern.authorization() | {"redirect_uri": "http://127.0.0.1:1/callback"}
    answer = modern.post("pushed_authorization_request_endpoint", wrong)
    assert (answer.status_code, answer.text) == (403, "")

    strict = Client(glewlwyd.strict, CLIENT, glewlwyd.redirect_uri)
    url = strict.authorization_url(strict.authorization())
    assert requests.get(url, allow_redirects=False, timeout=10).status_code == 403
    assert strict.redeem(glewlwyd.callback(log_in_pushed(glewlwyd, strict))).status_code == 200


def test_dpop(glewlwyd, modern, bound):
    tokens = log_in(glewlwyd, bound, dpop_jkt=bound.key.thumbprint)
    assert tokens["token_type"] == "DPoP"
    assert claims(tokens["access_token"])["cnf"] == {"jkt": bound.key.thumbprint}
    assert bound.userinfo(tokens["access_token"], bound.key).status_code == 200
    assert bound.userinfo(tokens["access_token"]).status_code == 401
    # Another key, or none, is refused. The refresh token stays valid.
    assert error(bound.refresh(tokens["refresh_token"], DPoPKey())) == (403, "invalid_dpop_proof")
    assert error(modern.refresh(tokens["refresh_token"])) == (403, "invalid_dpop_proof")
    tokens = bound.refresh(tokens["refresh_token"]).json()
    assert tokens["token_type"] == "DPoP"
    # Glewlwyd refuses a proof for an unbound token.
    plain = log_in(glewlwyd, modern)
    assert error(bound.refresh(plain["refresh_token"])) == (403, "invalid_dpop_proof")
    assert modern.refresh(plain["refresh_token"]).status_code == 200
    # The code is also bound if the request named the key.
    callback = glewlwyd.callback(modern.authorization_url(modern.authorization(dpop_jkt=bound.key.thumbprint)))
    assert modern.redeem(callback).status_code == 403


@pytest.mark.parametrize("way", ["code", "device"])
def test_dpop_with_nonces(glewlwyd, way):
    """The request is pushed with the key's thumbprint. With a proof, Glewlwyd demands a nonce that it never sends."""
    key = DPoPKey()
    client = Client(glewlwyd.strict, CLIENT, glewlwyd.redirect_uri, key)
    if way == "code":
        refused = client.post("pushed_authorization_request_endpoint", client.authorization(), key)
        assert error(refused) == (403, "invalid_dpop_proof") and "DPoP-Nonce" not in refused.headers
        callback = glewlwyd.callback(log_in_pushed(glewlwyd, client, dpop_jkt=key.thumbprint))

        def redeem():
            return client.redeem(callback)
    else:
        device = client.post("device_authorization_endpoint", {"scope": "openid offline_access"}).json()
        glewlwyd.visit(device["verification_uri_complete"])

        def redeem():
            form = {"grant_type": DEVICE_CODE, "device_code": device["device_code"]}
            return client.post("token_endpoint", form, key)

    key.nonce = "stale"
    refused = redeem()
    assert error(refused) == (400, "use_dpop_nonce") and refused.headers["DPoP-Nonce"] == key.nonce
    answer = redeem()
    assert answer.status_code == 200, answer.text  # the first try did not use up the code
    # Some answers also bring new nonces.
    nonces = {key.nonce}
    for _ in range(6):
        answer = client.refresh(answer.json()["refresh_token"])
        assert answer.status_code == 200, answer.text
        nonces.add(key.nonce)
    assert len(nonces) > 1
    # A stale nonce has the same effect at the token endpoint and at userinfo.
    tokens, key.nonce = answer.json(), "stale"
    assert error(client.refresh(tokens["refresh_token"])) == (400, "use_dpop_nonce")
    assert client.refresh(tokens["refresh_token"]).status_code == 200
    key.nonce = "stale"
    refused = client.userinfo(tokens["access_token"], key)
    assert refused.status_code == 401 and "use_dpop_nonce" in refused.headers["WWW-Authenticate"]
    assert client.userinfo(tokens["access_token"], key).status_code == 200


def test_revocation(glewlwyd, modern, bound):
    """A public client can revoke only with an access token of a certain scope. The instance "modern" allows this."""
    tokens = log_in(glewlwyd, modern)
    form = {"token": tokens["refresh_token"], "token_type_hint": "refresh_token"}
    url = modern.metadata["revocation_endpoint"]
    assert modern.post("revocation_endpoint", form).status_code == 401
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert requests.post(url, data=form, headers=bearer, timeout=10).status_code == 200
    assert modern.refresh(tokens["refresh_token"]).status_code == 400
    plain = Client(glewlwyd.issuer, CLIENT, glewlwyd.redirect_uri)
    tokens = log_in(glewlwyd, plain)
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    refused = requests.post(plain.metadata["revocation_endpoint"], data=form, headers=bearer, timeout=10)
    assert refused.status_code == 401

    # With DPoP, Glewlwyd compares the proof with an address in which a slash is missing.
    tokens = log_in(glewlwyd, bound)
    form = {"token": tokens["refresh_token"], "token_type_hint": "refresh_token"}
    statuses = []
    for address in (url, f"{glewlwyd.modern}revoke"):
        headers = {"Authorization": f"DPoP {tokens['access_token']}",
                   "DPoP": bound.key.proof("POST", address, tokens["access_token"])}
        statuses.append(requests.post(url, data=form, headers=headers, timeout=10).status_code)
    assert statuses == [401, 200]


@pytest.mark.parametrize("name", ["issuer", "modern"])
def test_deletion_of_a_refresh_token(glewlwyd, bound, name):
    """Public clients can delete a refresh token with Glewlwyd's own grant type at the token endpoint, without a
    proof."""
    plain = Client(getattr(glewlwyd, name), CLIENT, glewlwyd.redirect_uri)
    for client in [plain] if name == "issuer" else [plain, bound]:
        tokens = log_in(glewlwyd, client)
        form = {"grant_type": "delete_token", "refresh_token": tokens["refresh_token"]}
        answer = client.post("token_endpoint", form)
        assert (answer.status_code, answer.text) == (200, "")
        assert client.refresh(tokens["refresh_token"]).status_code == 400
