"""The access tokens that a key service gets: they are for this service alone, and a bound one needs a proof."""

import pytest
import requests
from support.django_provider import CLIENT
from support.person import PASSWORD
from support.programs import KEY_SERVICE, run
from support.recorder import Recorder
from support.services import DevelopmentServices, KeyService
from test_devices import ON, Machine
from test_oprf_key_service import code
from test_owned_devices import service  # noqa: F401 (a fixture)


def key_service_of(services, folder, children, url=None):
    """A key service that trusts the development provider. It has its public URL from a proxy, or its own."""
    folder.mkdir()
    keys = KeyService(folder)
    children.append(keys)
    keys.kill()
    keys.options = ("--owner-issuer", services.issuer, "--public-url", url or keys.url, "--keep-unclaimed-keys")
    keys.start()
    return keys


@pytest.fixture(params=[("--dpop", "offered"), ()], ids=["bound", "bearer"])
def recorded(request, tmp_path, children):
    """A machine that is on the list of its owner, the recorder before its key service, and the provider."""
    services = DevelopmentServices(tmp_path, *request.param)
    recorder = Recorder(None)
    children += [services, recorder]
    recorder.target = key_service_of(services, tmp_path / "service", children, recorder.url).url
    settings = services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": recorder.url}
    desk = Machine(tmp_path, settings, children).registered()
    assert [device["this_device"] for device in desk.devices()] == [True]
    return desk, recorder, services


def post(url, request, **changes):
    """Sends a recorded request again. A change of None leaves a field out."""
    headers = {name: value for name, value in (request.headers | changes).items() if value is not None}
    return requests.post(url + request.path, data=request.body, headers=headers, timeout=30)


def test_a_proof_goes_with_a_bound_token(recorded):
    desk, recorder, _ = recorded
    listed = [request for request in recorder.requests if request.call == "devices"][-1]
    scheme, token = listed.headers["Authorization"].split(" ")
    assert scheme == ("DPoP" if "DPoP" in listed.headers else "Bearer")
    if scheme == "Bearer":
        assert code(post(recorder.target, listed, Authorization=f"DPoP {token}")) == (401, "invalid_dpop_proof")
        return
    claimed = [request for request in recorder.requests if request.call == "claim"][-1]
    for changes in ({}, {"DPoP": None}, {"DPoP": "x.y.z"}, {"DPoP": claimed.headers["DPoP"]}):
        answer = post(recorder.target, listed, **changes)
        assert code(answer) == (401, "invalid_dpop_proof"), changes
        assert answer.headers["WWW-Authenticate"] == 'DPoP error="invalid_dpop_proof"'
    answer = post(recorder.target, listed, Authorization=f"Bearer {token}", DPoP=None)
    assert code(answer) == (401, "invalid_token")
    assert desk.vault("devices", "rename", "the desk", password=PASSWORD).status == 0


def test_a_token_for_one_key_service_is_worth_nothing_at_another(recorded, tmp_path, children):
    desk, recorder, services = recorded
    other = key_service_of(services, tmp_path / "other", children)
    listed = [request for request in recorder.requests if request.call == "devices"][-1]
    assert code(post(other.url, listed))[0] == 401
    general = desk.vault("token", password=PASSWORD).out.strip()
    assert general not in recorder.access_tokens


def test_a_service_without_its_public_url_takes_no_bound_token(tmp_path, children):
    services = DevelopmentServices(tmp_path, "--dpop", "required")
    children.append(services)
    keys = KeyService(tmp_path, "--owner-issuer", services.issuer, "--keep-unclaimed-keys")
    children.append(keys)
    settings = services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": keys.url}
    result = Machine(tmp_path, settings, children).registered().vault("devices", password=PASSWORD)
    assert result.status == 78 and "--public-url" in result.err, result


def test_a_provider_that_makes_only_opaque_tokens_needs_a_yes(tmp_path, django, service, children):  # noqa: F811
    recorder = Recorder(service.url)
    children.append(recorder)
    settings = {"CREDENTIAL_VAULT_ISSUER": django.issuer, "CREDENTIAL_VAULT_CLIENT_ID": CLIENT,
                "CREDENTIAL_VAULT_KEY_SERVICE": recorder.url}
    desk = Machine(tmp_path, settings, children).registered(visit=django.visit, env=ON)
    for _ in range(2):
        result = desk.vault("devices", "--json", password=PASSWORD)
        assert (result.status, result.error["code"]) == (78, "configurationInvalid"), result
        assert f"only for {recorder.url}" in result.error["message"], result
        assert "vault config set key-service-audience any" in result.error["message"], result
    assert recorder.access_tokens == []
    # The renewed refresh token was stored each time.
    assert desk.vault("token", "--refresh", password=PASSWORD).status == 0
    # This provider keeps the restriction for all later tokens of the login, so only a new registration helps.
    assert desk.vault("config", "set", "key-service-audience", "any").status == 0
    (tmp_path / "new").mkdir()
    settings["CREDENTIAL_VAULT_KEY_SERVICE_AUDIENCE"] = "any"
    new = Machine(tmp_path / "new", settings, children).registered(visit=django.visit)
    assert len(new.devices()) == 1 and recorder.access_tokens != []


def test_an_address_that_clients_cannot_have_is_refused(tmp_path, children):
    keys = KeyService(tmp_path)
    keys.kill()
    for url in ("keys.example.com", "ftp://keys.example.com", "https://keys.example.com/?a=b"):
        result = run([KEY_SERVICE, "serve", "--data", keys.data, "--owner-issuer", "https://login.example.com",
                      "--public-url", url])
        assert result.status == 78 and "https://keys.example.com" in result.err, result
