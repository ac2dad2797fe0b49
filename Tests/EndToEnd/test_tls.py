"""TLS: its oldest version, and private certificate authorities."""

import json
import os
import shutil
import ssl
import subprocess
import warnings

import pytest
from support.machine import Machine
from support.person import PASSWORD
from support.raw_server import RawServer, json_answer, tls

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # for the names of old versions


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A private certificate authority, and its certificate for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("authority")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
            "-subj", "/CN=Test authority", "-addext", "basicConstraints=critical,CA:TRUE")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr",
            "-subj", "/CN=127.0.0.1")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", "server.pem", "-days", "2", "-extfile", "names")
    return folder


@pytest.fixture
def provider(authority, children):
    """An identity provider and key service that accepts only one version of TLS."""
    def start(version=None):
        def answer(head):
            if head.startswith(b"GET /keyservice/v2 "):
                return json_answer({"versions": [2]})
            if b"/keyservice/" in head:
                return json_answer({"error": "no_such_key"}, "404 Not Found")
            url = server.url
            return json_answer({
                "issuer": url, "authorization_endpoint": url + "/auth", "token_endpoint": url + "/token",
                "jwks_uri": url + "/keys", "registration_endpoint": url + "/register"})

        server = RawServer(answer, tls(authority / "server.pem", authority / "server.key", version))
        children.append(server)
        return server
    return start


def outcomes(person, server, *arguments, **options):
    result = person.vault(
        "doctor", "--json", "--issuer", server.url, "--key-service", server.url, *arguments, **options)
    checks = {check["name"]: check for check in result.json}
    return checks["issuer"]["outcome"], checks["key service"]["outcome"]


@pytest.mark.parametrize("version, outcome", [
    ("TLSv1", "fail"), ("TLSv1_1", "fail"), ("TLSv1_2", "ok"), ("TLSv1_3", "ok")])
def test_the_least_version_is_1_2(person, authority, provider, version, outcome):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = provider(getattr(ssl.TLSVersion, version))
    assert outcomes(person, server, "--ca-file", authority / "ca.pem") == (outcome, outcome)
    assert bool(server.requests) == (outcome == "ok")


def test_an_authority_of_one_s_own_is_trusted_when_it_is_named(person, authority, provider):
    server = provider()
    assert outcomes(person, server) == ("fail", "fail")
    assert not server.requests
    ca = authority / "ca.pem"
    assert outcomes(person, server, env={"CREDENTIAL_VAULT_CA_FILE": ca}) == ("ok", "ok")
    # On the command line, a relative path starts at the current folder. The configuration file stores the absolute
    # path.
    assert outcomes(person, server, "--ca-file", "ca.pem", cwd=authority) == ("ok", "ok")
    assert person.vault("config", "set", "ca-file", "ca.pem", cwd=authority).status == 0
    assert person.vault("config", "get", "ca-file").out == f"{ca}\n"
    assert outcomes(person, server) == ("ok", "ok")
    # The server's own certificate does not work as an authority for another name.
    assert person.vault("config", "set", "ca-file", "").status == 0
    assert outcomes(person, server) == ("fail", "fail")


@pytest.fixture(scope="module")
def other_authority(tmp_path_factory):
    """The certificate of an authority that signed nothing."""
    path = tmp_path_factory.mktemp("other") / "ca.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", path.with_suffix(".key"), "-out", path,
         "-days", "2", "-subj", "/CN=Other authority", "-addext", "basicConstraints=critical,CA:TRUE"],
        check=True, capture_output=True)
    return path


@pytest.mark.skipif(not Machine.is_possible(), reason="a private /etc needs a mount namespace")
@pytest.mark.parametrize("certs", [None, [], ["ca-certificates.crt"], ["ssl-cert-snakeoil.pem"]], ids=str)
def test_a_machine_without_any_authority_says_so(person, authority, provider, tmp_path, certs):
    """A small Debian has no package ca-certificates. Other packages make the folder, or put files there."""
    person.disk, server = Machine(tmp_path), provider()
    shutil.rmtree(person.disk.etc / "ssl")
    shutil.rmtree(person.disk.etc / "pki", ignore_errors=True)
    if certs is not None:
        folder = person.disk.etc / "ssl" / "certs"
        folder.mkdir(parents=True)
        for name in certs:
            (folder / name).write_bytes(b"" if name.endswith(".crt") else (authority / "server.pem").read_bytes())
    assert outcomes(person, server) == ("fail", "fail")
    said = person.vault("doctor", "--issuer", server.url, "--key-service", server.url).out
    assert said.count("Install the package ca-certificates.") >= 2, said
    assert outcomes(person, server, "--ca-file", authority / "ca.pem") == ("ok", "ok")


def test_a_host_can_have_an_authority_of_its_own(person, authority, other_authority, provider):
    server = provider()
    ca = authority / "ca.pem"

    def trust(*pairs):
        result = person.vault("config", "set", "host-ca-files", " ".join(pairs), cwd=authority)
        assert result.status == 0, result

    trust("127.0.0.1=ca.pem", f"keys.example.com={other_authority}")
    stored = f"127.0.0.1={ca} keys.example.com={other_authority}\n"
    assert person.vault("config", "get", "host-ca-files").out == stored
    assert outcomes(person, server) == ("ok", "ok")
    # For this host, the file stands in place of the system's authorities and of ca-file.
    trust(f"127.0.0.1={other_authority}")
    requests = len(server.requests)
    assert outcomes(person, server, "--ca-file", ca) == ("fail", "fail")
    assert len(server.requests) == requests
    # Another host is not concerned.
    trust(f"keys.example.com={other_authority}")
    assert outcomes(person, server, "--ca-file", ca) == ("ok", "ok")


@pytest.mark.parametrize("value", [
    "127.0.0.1", "=ca.pem", "a.example=", "127.0.0.1:8443=ca.pem", "https://a.example=ca.pem", "a.example/x=ca.pem",
    "a.example=ca.pem b.example"])
def test_78_a_wrong_list_of_hosts_trusts_nobody(alice, authority, value):
    result = alice.vault("config", "set", "host-ca-files", value, cwd=authority)
    assert result.status == 78 and "host-ca-files is HOST=FILE" in result.err, result
    result = alice.vault(
        "login", password=PASSWORD, env={"CREDENTIAL_VAULT_HOST_CA_FILES": value}, cwd=authority)
    assert result.status == 78 and "host-ca-files is HOST=FILE" in result.err, result


def test_78_the_file_of_a_host_is_missing(person, provider, tmp_path):
    server = provider()
    value = f"127.0.0.1={tmp_path / 'missing.pem'}"
    result = person.vault("config", "set", "host-ca-files", value)
    assert result.status == 78 and "cannot be found" in result.err, result
    result = person.vault("doctor", "--issuer", server.url, env={"CREDENTIAL_VAULT_HOST_CA_FILES": value})
    assert "cannot be found" in result.out and "unset CREDENTIAL_VAULT_HOST_CA_FILES" in result.out, result
    assert not server.requests


def test_a_person_is_told_how_to_trust_an_authority(person, provider):
    result = person.vault("doctor", "--issuer", provider().url)
    assert "is not trusted" in result.out and "ca-file" in result.out, result


BAD = {
    "missing": (lambda path: None, "cannot be found"),
    "empty": (lambda path: path.write_text(""), "holds no certificate"),
    "no certificate": (lambda path: path.write_text("hello\n" * 100), "holds no certificate"),
    "broken": (
        lambda path: path.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        "holds no certificate"),
    "a folder": (lambda path: path.mkdir(), "is not a regular file"),
    "a pipe": (lambda path: os.mkfifo(path), "is not a regular file"),
    "too large": (lambda path: path.write_bytes(b"\n" * (4 << 20 | 1)), "is larger than 4 MiB"),
}


@pytest.mark.parametrize("kind", BAD)
def test_78_a_file_that_cannot_be_used(alice, kind):
    make, reason = BAD[kind]
    path = alice.folder / "bad.pem"
    make(path)
    for arguments, env, removal in (
        (["--ca-file", path], {}, "leave out --ca-file"),
        ([], {"CREDENTIAL_VAULT_CA_FILE": path}, "unset CREDENTIAL_VAULT_CA_FILE"),
    ):
        for command in (["login"], ["register", "--no-browser"]):
            result = alice.vault(*command, *arguments, password=PASSWORD, env=env)
            assert result.status == 78, result
            assert str(path) in result.err and reason in result.err and removal in result.err, result
        # Commands without network access still work.
        for command in (["users"], ["status"], ["config", "get"], ["logout"]):
            assert alice.vault(*command, *arguments, env=env).status == 0
    result = alice.vault("config", "set", "ca-file", path)
    assert result.status == 78 and reason in result.err
    # The file was valid when the setting was made.
    alice.config_home.joinpath("credential-vault").mkdir(parents=True)
    alice.config_home.joinpath("credential-vault/config.json").write_text(json.dumps({"ca-file": str(path)}))
    result = alice.vault("login", password=PASSWORD)
    assert result.status == 78 and "vault config set ca-file ''" in result.err, result
    assert alice.vault("config", "set", "ca-file", "").status == 0
    assert alice.vault("login", password=PASSWORD).status == 0
