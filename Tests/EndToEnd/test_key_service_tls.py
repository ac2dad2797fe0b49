"""TLS of vault-key-service: its versions, certificates of clients, and a certificate that changes while it runs."""

import datetime
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import threading

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from support.programs import KEY_SERVICE, run
from support.services import KeyService
from support.waiting import wait_until


class Authority:
    """A certificate authority with its certificates."""

    def __init__(self, folder):
        self.folder = folder
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key",
                     "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test authority", "-addext",
                     "basicConstraints=critical,CA:TRUE")
        (folder / "names").write_text("subjectAltName=IP:127.0.0.1")

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

    def certificate(self, name, days=2):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                     "-out", f"{name}.csr", "-subj", f"/CN={name}")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                     "-out", f"{name}.pem", "-days", str(days), "-extfile", "names")
        (self.folder / f"{name}.key").chmod(0o600)

    def expire(self, name):
        """Replaces a certificate by one for the same key that has expired. The openssl program cannot make one."""
        old = x509.load_pem_x509_certificate(self.path(f"{name}.pem").read_bytes())
        key = serialization.load_pem_private_key(self.path("ca.key").read_bytes(), None)
        now = datetime.datetime.now(datetime.timezone.utc)
        made = x509.CertificateBuilder(
            old.issuer, old.subject, old.public_key(), old.serial_number, now - datetime.timedelta(days=2),
            now - datetime.timedelta(days=1), list(old.extensions)).sign(key, hashes.SHA256())
        self.path(f"{name}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))

    def path(self, name):
        return self.folder / name

    def put(self, name, target="server"):
        """Makes a certificate the one of the service, as a renewing program does."""
        for kind in ("pem", "key"):
            shutil.copy(self.path(f"{name}.{kind}"), self.path(f"{target}.{kind}.new"))
            os.replace(self.path(f"{target}.{kind}.new"), self.path(f"{target}.{kind}"))


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("authority"))
    for name in ("first", "second", "client"):
        authority.certificate(name)
    return authority


class TLSKeyService(KeyService):
    def start(self):
        super().start()
        self.port = int(self.listen.rsplit(":", 1)[1])


@pytest.fixture
def serve(tmp_path, children, authority):
    def start(*options):
        authority.put("first")
        service = TLSKeyService(
            tmp_path, "--tls-certificate", authority.path("server.pem"), "--tls-key", authority.path("server.key"), *options)
        children.append(service)
        return service
    return start


def context(authority, client=None):
    context = ssl.create_default_context(cafile=authority.path("ca.pem"))
    if client:
        context.load_cert_chain(authority.path(f"{client}.pem"), authority.path(f"{client}.key"))
    return context


def connect(service, context):
    return http.client.HTTPSConnection("127.0.0.1", service.port, timeout=30, context=context)


def status(connection, path="/healthz"):
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def name(service, context):
    """Returns the name in the certificate that a new connection gets."""
    connection = connect(service, context)
    connection.connect()
    certificate = connection.sock.getpeercert()
    connection.close()
    return dict(pair[0] for pair in certificate["subject"])["commonName"]


def test_it_speaks_tls_13_only(serve, authority):
    service = serve()
    assert service.url.startswith("https://127.0.0.1:")
    connection = connect(service, context(authority))
    assert status(connection) == 200 and connection.sock.version() == "TLSv1.3"
    body = json.dumps({"secret": "482916"})
    connection.request("POST", "/keyservice/v1/createkey", body, {"Content-Type": "application/json"})
    assert "longsecret" in json.loads(connection.getresponse().read())
    old = context(authority)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        status(connect(service, old))
    with pytest.raises((http.client.HTTPException, OSError)):
        status(http.client.HTTPConnection("127.0.0.1", service.port, timeout=30))


def test_tls_12_on_request(serve, authority):
    service = serve("--tls-minimum", "1.2")
    old = context(authority)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert status(connect(service, old)) == 200 and status(connect(service, context(authority))) == 200


def test_clients_need_a_certificate(serve, authority, tmp_path):
    service = serve("--tls-client-ca", authority.path("ca.pem"), "--health-listen", "127.0.0.1:0")
    assert status(connect(service, context(authority, "client"))) == 200
    with pytest.raises((ssl.SSLError, OSError, http.client.HTTPException)):
        status(connect(service, context(authority)))
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other")
    stranger.certificate("client")
    strange = context(authority)
    strange.load_cert_chain(stranger.path("client.pem"), stranger.path("client.key"))
    with pytest.raises((ssl.SSLError, OSError, http.client.HTTPException)):
        status(connect(service, strange))
    # The listener for health checks has no TLS.
    port = int(re.search(r"Health on http://127\.0\.0\.1:(\d+)", service.program.out)[1])
    assert status(http.client.HTTPConnection("127.0.0.1", port, timeout=30), "/readyz") == 200


def test_a_new_certificate_disturbs_nobody(serve, authority):
    service = serve("--max-connections-per-address", "0")
    trusted = context(authority)
    connections = [connect(service, trusted) for _ in range(100)]
    assert [status(connection) for connection in connections] == [200] * 100
    assert name(service, trusted) == "first"
    counts, stop = [0] * 4, threading.Event()

    def work(index):
        while not stop.is_set():
            for connection in connections[index::4]:
                assert status(connection) == 200
                counts[index] += 1

    failures = []

    def watched(index):
        try:
            work(index)
        except Exception as error:  # a thread does not fail its test by itself
            failures.append(error)
    threads = [threading.Thread(target=watched, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number, certificate in enumerate(["second", "first", "second", "first", "second"]):
            before = list(counts)
            authority.put(certificate)
            service.program.signal(signal.SIGHUP)
            wait_until(lambda: service.program.err.count("and the certificate") == number + 1, "the reload")
            assert name(service, trusted) == certificate
            wait_until(lambda: failures or all(now > then for now, then in zip(counts, before)), "more answers")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures


def test_a_bad_new_certificate_is_refused(serve, authority):
    service = serve()
    trusted = context(authority)
    bad = {
        "no certificate": lambda: authority.path("server.pem").write_text("nothing"),
        "no key": lambda: authority.path("server.key").write_text("nothing"),
        "the key of another": lambda: shutil.copy(authority.path("second.key"), authority.path("server.key")),
        "a key open to others": lambda: authority.path("server.key").chmod(0o644),
        "expired": lambda: authority.expire("server"),
        "missing": lambda: authority.path("server.pem").unlink(),
    }
    for number, (what, spoil) in enumerate(bad.items()):
        authority.put("first")
        authority.path("server.key").chmod(0o600)
        spoil()
        service.program.signal(signal.SIGHUP)
        wait_until(lambda: service.program.err.count("Not reloaded") == number + 1, what)
        assert name(service, trusted) == "first", what
    authority.path("server.key").chmod(0o600)
    authority.put("second")
    service.program.signal(signal.SIGHUP)
    wait_until(lambda: "and the certificate" in service.program.err, "the good one")
    assert name(service, trusted) == "second"


@pytest.mark.parametrize("what", ["certificate", "key", "mode", "client"])
def test_it_does_not_start_with_bad_files(authority, tmp_path, what):
    data = tmp_path / "keys"
    assert run([KEY_SERVICE, "init", "--data", data]).status == 0
    authority.put("first")
    files = {"certificate": authority.path("server.pem"), "key": authority.path("server.key")}
    options = []
    if what == "mode":
        files["key"].chmod(0o640)
    elif what == "client":
        options = ["--tls-client-ca", "/nonexistent.pem"]
    else:
        files[what] = tmp_path / "nonexistent.pem"
    result = run([KEY_SERVICE, "serve", "--data", data, "--listen", "127.0.0.1:0", "--tls-certificate",
                  files["certificate"], "--tls-key", files["key"], *options])
    files["key"].chmod(0o600) if files["key"].exists() else None
    assert result.status == 78 and ("server.key" if what == "mode" else "nonexistent.pem") in result.err


def test_with_tls_other_machines_may_connect(serve, authority):
    service = serve("--listen", "0.0.0.0:0")
    assert status(connect(service, context(authority))) == 200
