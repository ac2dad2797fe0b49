"""A client of the key service's protocol, version 2, in Python over libsodium: an independent second one."""

import base64
import ctypes
import hashlib
import hmac
import json
import os
import struct
import time
import uuid

import requests

SODIUM = ctypes.CDLL("libsodium.so.23")
SODIUM.sodium_init()
GROUP = b"HashToGroup-OPRFV1-\x00-ristretto255-SHA512"


def encode(value):
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def message(purpose, *parts):
    return b"credential-vault/v2/" + purpose.encode() + b"\0" + b"".join(parts)


def derive(secret, info, size=32):
    """HKDF-SHA512 with an empty salt."""
    key, block, result = hmac.digest(bytes(64), secret, "sha512"), b"", b""
    for number in range(1, size // 64 + 2):
        block = hmac.digest(key, block + info + bytes([number]), "sha512")
        result += block
    return result[:size]


def _output(name, size, *arguments):
    buffer = ctypes.create_string_buffer(size)
    if getattr(SODIUM, name)(buffer, *arguments) not in (0, None):
        raise ValueError(name)
    return buffer.raw


def multiply(scalar, element):
    return _output("crypto_scalarmult_ristretto255", 32, scalar, element)


def random_scalar():
    buffer = ctypes.create_string_buffer(32)
    SODIUM.crypto_core_ristretto255_scalar_random(buffer)
    return buffer.raw


def random_element():
    return _output("crypto_core_ristretto255_from_hash", 32, os.urandom(64))


def hash_to_group(value):
    tag = GROUP + bytes([len(GROUP)])
    first = hashlib.sha512(bytes(128) + value + struct.pack(">H", 64) + b"\0" + tag).digest()
    return _output("crypto_core_ristretto255_from_hash", 32, hashlib.sha512(first + b"\1" + tag).digest())


def finalize(value, blind, evaluated):
    element = multiply(_output("crypto_core_ristretto255_scalar_invert", 32, blind), evaluated)
    return hashlib.sha512(
        struct.pack(">H", len(value)) + value + struct.pack(">H", 32) + element + b"Finalize").digest()


def unseal(envelope, key, *context):
    """Opens a sealed envelope: "CV", format 1, algorithm, nonce, ciphertext. Raises ValueError if it does not open."""
    names = {1: ("crypto_aead_aes256gcm_decrypt", 12), 2: ("crypto_aead_xchacha20poly1305_ietf_decrypt", 24)}
    assert envelope[:3] == b"CV\1"
    name, size = names[envelope[3]]
    data = envelope[:4] + b"".join(struct.pack(">Q", len(text)) + text.encode() for text in context)
    nonce, ciphertext = envelope[4:4 + size], envelope[4 + size:]
    return _output(
        name, len(ciphertext) - 16, None, None, ciphertext, ctypes.c_ulonglong(len(ciphertext)), data,
        ctypes.c_ulonglong(len(data)), nonce, key)


class Record:
    """The two keys in a record of the service, opened with its master key."""

    def __init__(self, content, key_id, master_key):
        half = len(content) // 2
        record_key = derive(master_key, b"credential-vault/key-service/v2/record-key")
        self.request_key, self.function = (
            unseal(part, record_key, f"credential-vault/key-service/v2/{purpose}", "", "", "", key_id)
            for purpose, part in (("request-key", content[:half]), ("oblivious-key", content[half:])))


class Signer:
    """An Ed25519 key."""

    def __init__(self, seed):
        public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
        SODIUM.crypto_sign_seed_keypair(public, secret, seed)
        self.public, self.secret = public.raw, secret.raw

    def sign(self, value):
        signature = ctypes.create_string_buffer(64)
        SODIUM.crypto_sign_detached(signature, None, value, ctypes.c_ulonglong(len(value)), self.secret)
        return signature.raw


class Guess:
    """A guess with its secret. It can be sent several times."""

    def __init__(self, secret):
        self.secret = secret
        self.blind = random_scalar()
        self.blinded = multiply(self.blind, hash_to_group(secret))


class OPRFKey:
    """A key at a service, and all that its owner's machine knows."""

    def __init__(self, url, secret=b"right", key_id=None, session=None):
        self.base = url + "/keyservice/v2"
        self.id = key_id or str(uuid.uuid4())
        self.secret = secret
        self.request_key = os.urandom(32)
        self.end = Signer(os.urandom(32))
        self.check = None
        self.session = requests.Session() if session is None else session

    @classmethod
    def of_disk(cls, person, url, kind="password"):
        """All that a thief of the person's disk knows of a key."""
        ((key_id, secret),) = person.sql(
            "SELECT key_id, device_secret FROM keyslot JOIN account ON account.id = account_id"
            " WHERE kind = ? AND staged = 0", kind)
        key = cls(url, key_id=key_id)
        key.request_key = derive(secret, message("request-key", key.bytes))
        return key

    @property
    def bytes(self):
        return self.id.encode()

    def ticket(self, blinded):
        return hashlib.sha512(message("ticket", self.bytes, blinded)).digest()[:16]

    def post(self, path, body, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.session.post(
            self.base + path, data=data, headers={"Content-Type": "application/json", **headers}, timeout=30)

    # The bodies.

    def create_body(self, guess):
        return {
            "id": self.id, "request_key": encode(self.request_key), "end_key": encode(self.end.public),
            "blinded": encode(guess.blinded)}

    def confirm_body(self, signer, *tickets, first=False):
        body = {
            "tickets": [encode(ticket) for ticket in tickets],
            "signature": encode(signer.sign(message("confirm", self.bytes, *tickets)))}
        if first:
            body["confirm_key"] = encode(signer.public)
            body["end_signature"] = encode(self.end.sign(message("install", self.bytes, signer.public)))
        return body

    def end_body(self):
        return {"signature": encode(self.end.sign(message("end", self.bytes)))}

    def authorization(self, body, seconds=None, key=None):
        seconds = str(int(time.time()) if seconds is None else seconds)
        value = message("evaluate", self.bytes, seconds.encode(), b"\0", hashlib.sha512(body).digest())
        return f"CV2 {seconds}." + encode(hmac.digest(key or self.request_key, value, "sha512")[:32])

    # The calls.

    def create(self, guess=None):
        self.first = guess or Guess(self.secret)
        return self.post("/keys", self.create_body(self.first))

    def evaluate(self, guess, seconds=None, key=None):
        body = json.dumps({"blinded": encode(guess.blinded)}).encode()
        authorization = self.authorization(body, seconds, key)
        answer = self.post(f"/keys/{self.id}/evaluate", body, Authorization=authorization)
        self.check_answer(answer, authorization, key)
        return answer

    def answer_field(self, content, authorization, key=None):
        """The field `Authentication-Info` of an answer to a request."""
        code = decode(authorization.split(".")[1])
        value = message("answer", self.bytes, code, hashlib.sha512(content).digest())
        return "mac=" + encode(hmac.digest(key or self.request_key, value, "sha512")[:32])

    def check_answer(self, answer, authorization, key=None):
        """The service authenticates each answer to a request that it found authentic."""
        expected = self.answer_field(answer.content, authorization, key)
        field = answer.headers.get("Authentication-Info")
        if answer.status_code in (200, 403, 409, 410) or answer.json()["code"] == "clock":
            assert field == expected, (answer.status_code, answer.text)
        else:
            assert field in (None, expected)

    def confirm(self, signer, *tickets, first=False):
        return self.post(f"/keys/{self.id}/confirm", self.confirm_body(signer, *tickets, first=first))

    def finish(self):
        return self.post(f"/keys/{self.id}/end", self.end_body())

    # The steps of a client.

    def signer(self, guess, answer):
        result = finalize(guess.secret, guess.blind, decode(answer["evaluated"]))
        return Signer(derive(result, message("confirm", self.bytes)))

    def make(self):
        """Makes the key and confirms it."""
        answer = self.create()
        assert answer.status_code == 200, answer.text
        answer = self.created = answer.json()
        signer = self.signer(self.first, answer)
        self.check = signer.public
        confirmed = self.confirm(signer, decode(answer["ticket"]), first=True)
        assert (confirmed.status_code, confirmed.json()) == (200, {}), confirmed.text
        return self

    def log_in(self, secret=None, confirms=True):
        """Returns whether the secret is right. Raises an assertion error when the service refuses."""
        guess = Guess(secret or self.secret)
        answer = self.evaluate(guess)
        assert answer.status_code == 200, answer.text
        signer = self.signer(guess, answer.json())
        if signer.public != self.check:
            return False
        if confirms:
            confirmed = self.confirm(signer, decode(answer.json()["ticket"]))
            assert confirmed.status_code == 200, confirmed.text
        return True
