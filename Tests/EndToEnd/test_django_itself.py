"""The behaviour of django-oauth-toolkit that the command's tests rely on, in plain HTTP. If a later version differs,
these tests show the reason."""

import pytest
import requests
from support.django_provider import CLIENT, DEVICE_CLIENT
from support.oauth import DEVICE_CODE, Client, claims
from support.waiting import wait_until

REDIRECT_URI = "http://127.0.0.1:4321/callback"


@pytest.fixture
def client(django):
    client = Client(django.issuer, CLIENT, REDIRECT_URI)
    client.metadata |= more_metadata(django)
    return client


def more_metadata(django):
    return requests.get(f"{django.base}/.well-known/oauth-authorization-server", timeout=10).json()


def error(answer):
    return answer.status_code, answer.json()["error"]


def test_what_is_announced_where(django, client):
    first = Client(django.issuer, CLIENT, REDIRECT_URI).metadata
    second = more_metadata(django)
    assert first["issuer"] == second["issuer"] == django.issuer
    assert second.keys() - first.keys() >= {
        "revocation_endpoint", "registration_endpoint", "device_authorization_endpoint", "grant_types_supported"}
    assert first.keys() - second.keys() >= {"userinfo_endpoint", "end_session_endpoint"}
    assert first["authorization_response_iss_parameter_supported"] is True


def test_tokens(django, client):
    callback = django.callback(client.authorization_url(client.authorization()))
    assert f"&iss={requests.utils.quote(django.issuer, safe='')}" in callback
    tokens = client.redeem(callback).json()
    assert "." not in tokens["access_token"] and claims(tokens["id_token"])["sub"] == "1"
    renewed = client.refresh(tokens["refresh_token"]).json()
    assert renewed["refresh_token"] != tokens["refresh_token"] and renewed["id_token"]
    assert error(client.refresh(tokens["refresh_token"])) == (400, "invalid_grant")
    assert error(client.refresh(renewed["refresh_token"])) == (400, "invalid_grant"), "reuse revokes the newest, too"
    denied = django.callback(client.authorization_url(client.authorization()), deny=True)
    assert "error=access_denied" in denied and "iss=" not in denied


def test_revocation(django, client):
    tokens = client.redeem(django.callback(client.authorization_url(client.authorization()))).json()
    form = {"token": tokens["refresh_token"], "token_type_hint": "refresh_token"}
    assert client.post("revocation_endpoint", form).status_code == 200
    assert error(client.refresh(tokens["refresh_token"])) == (400, "invalid_grant")
    assert client.userinfo(tokens["access_token"]).status_code == 401


def test_device_code(django, client):
    client.client_id = DEVICE_CLIENT
    device = client.post("device_authorization_endpoint", {"scope": "openid profile offline_access"}).json()
    assert "verification_uri_complete" not in device

    def poll():
        return client.post("token_endpoint", {"grant_type": DEVICE_CODE, "device_code": device["device_code"]})

    assert error(poll()) == (400, "authorization_pending")
    page = django.visit(device["verification_uri"], user_code=device["user_code"])
    assert page.status_code == 200 and "device-grant-status" in page.url
    tokens = wait_until(lambda: (answer := poll()).status_code == 200 and answer.json(), "the tokens")
    # The person's identity comes from userinfo, or with the first refresh.
    assert "id_token" not in tokens
    assert client.userinfo(tokens["access_token"]).json()["sub"] == "1"
    assert claims(client.refresh(tokens["refresh_token"]).json()["id_token"])["sub"] == "1"


def test_registration(django, client):
    def register(*grants, **more):
        return requests.post(client.metadata["registration_endpoint"], timeout=10, json={
            "client_name": "Vault", "redirect_uris": ["http://127.0.0.1/callback"], "grant_types": grants,
            "token_endpoint_auth_method": "none", "response_types": ["code"], "application_type": "native"} | more)

    answer = register("authorization_code", "refresh_token")
    assert answer.status_code == 201 and "client_secret" not in answer.json()
    client.client_id = answer.json()["client_id"]
    assert client.redeem(django.callback(client.authorization_url(client.authorization()))).status_code == 200
    # Each client can use only one grant for signing in.
    assert error(register("authorization_code", "refresh_token", DEVICE_CODE)) == (400, "invalid_client_metadata")
    assert register(DEVICE_CODE, "refresh_token").status_code == 201
    confidential = register("authorization_code", token_endpoint_auth_method="client_secret_basic").json()
    assert confidential["client_secret"]
    custom = register("authorization_code", redirect_uris=["com.example.app:/callback"])
    assert error(custom) == (400, "invalid_client_metadata")
