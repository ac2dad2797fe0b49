"""OAuth in plain HTTP, to test a provider without the programs under test."""

import base64
import hashlib
import json
import secrets
import time
from urllib.parse import parse_qs, urlencode, urlsplit

import requests
from jwcrypto import jwk, jws

DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def digest(text):
    return encoded(hashlib.sha256(text.encode()).digest())


def claims(token):
    """Returns the claims of a signed token, unverified."""
    body = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


class DPoPKey:
    """A DPoP key (RFC 9449), with ES256."""

    def __init__(self):
        self.key = jwk.JWK.generate(kty="EC", crv="P-256")
        self.nonce = None

    @property
    def thumbprint(self):
        return self.key.thumbprint()

    def proof(self, method, url, access_token=None):
        content = {"jti": secrets.token_hex(16), "htm": method, "htu": url.split("?")[0], "iat": int(time.time())}
        if access_token:
            content["ath"] = digest(access_token)
        if self.nonce:
            content["nonce"] = self.nonce
        token = jws.JWS(json.dumps(content))
        header = {"typ": "dpop+jwt", "alg": "ES256", "jwk": self.key.export_public(as_dict=True)}
        token.add_signature(self.key, protected=json.dumps(header))
        return token.serialize(compact=True)


class Client:
    def __init__(self, issuer, client_id, redirect_uri, key=None):
        self.metadata = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=10).json()
        self.client_id, self.redirect_uri, self.key = client_id, redirect_uri, key

    def post(self, endpoint, form, key=None):
        url = self.metadata[endpoint]
        headers = {"DPoP": key.proof("POST", url)} if key else {}
        answer = requests.post(url, data={"client_id": self.client_id} | form, headers=headers, timeout=10)
        if key and "DPoP-Nonce" in answer.headers:
            key.nonce = answer.headers["DPoP-Nonce"]
        return answer

    def authorization(self, scope="openid profile email offline_access", **more):
        """Returns the parameters of an authorization request."""
        self.verifier = secrets.token_urlsafe(32)
        return {
            "response_type": "code", "client_id": self.client_id, "redirect_uri": self.redirect_uri, "scope": scope,
            "state": secrets.token_hex(8), "nonce": secrets.token_hex(8), "code_challenge": digest(self.verifier),
            "code_challenge_method": "S256", **more}

    def authorization_url(self, parameters):
        return f"{self.metadata['authorization_endpoint']}?{urlencode(parameters)}"

    def redeem(self, callback):
        """Exchanges the code in the address of the redirect."""
        code = parse_qs(urlsplit(callback).query)["code"][0]
        return self.post("token_endpoint", {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier}, self.key)

    def refresh(self, refresh_token, key=None):
        return self.post(
            "token_endpoint", {"grant_type": "refresh_token", "refresh_token": refresh_token}, key or self.key)

    def userinfo(self, access_token, key=None):
        url = self.metadata["userinfo_endpoint"]
        headers = {"Authorization": f"{'DPoP' if key else 'Bearer'} {access_token}"}
        if key:
            headers["DPoP"] = key.proof("GET", url, access_token)
        answer = requests.get(url, headers=headers, timeout=10)
        if key and "DPoP-Nonce" in answer.headers:
            key.nonce = answer.headers["DPoP-Nonce"]
        return answer
