"""`vault helper`: access tokens for git, docker, kubectl and curl. The tests use the real programs if they are
installed."""

import base64
import http.server
import json
import shutil
import subprocess
import threading
import time
import warnings
from datetime import datetime

import pytest
from support.person import PASSWORD
from support.programs import VAULT, run
from support.raw_server import tls
from support.web import Web

REFS = {
    "/repository.git/info/refs": b"0123456789012345678901234567890123456789\trefs/heads/main\n",
    "/repository.git/HEAD": b"ref: refs/heads/main\n",
}


def has(program):
    """Whether the real program is installed. If not, the test prints this, and checks only the protocol."""
    if shutil.which(program):
        return True
    warnings.warn(f"{program} is not installed: only its protocol was tested", stacklevel=2)
    return False


@pytest.fixture
def user(person, services):
    """alice with a home folder for the settings of other programs."""
    alice, token = person, person.folder / "token"
    services.prepare(
        "alice-and-a-token", alice,
        lambda: token.write_text(alice.registered().vault("token", password=PASSWORD).out.strip()))
    folder = alice.folder / "user"
    folder.mkdir()
    alice.settings |= {
        "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1", "DOCKER_CONFIG": folder / ".docker",
        "KUBECONFIG": folder / ".kube/config", "DISPLAY": "", "WAYLAND_DISPLAY": "", "GIT_TERMINAL_PROMPT": "1"}
    alice.user_home = folder
    alice.token = token.read_text()
    return alice


@pytest.fixture
def web(children):
    server = Web(REFS)
    children.append(server)
    return server


def helper(person, tool, *arguments, request=b"", **more):
    """Runs a helper as its program does, with the request on standard input."""
    words = [VAULT, "helper", tool, "--password-file", person.password_file(), *arguments]
    return run(words, person.environment(**more), request)


def asked(**attributes):
    return "".join(f"{name}={value}\n" for name, value in attributes.items()) + "\n"


# git


def test_git_gets_user_name_token_and_expiry(user):
    result = helper(user, "git", "--host", "git.example.com", "get", request=asked(
        protocol="https", host="git.example.com", path="x", **{"wwwauth[]": 'Basic realm="a=b"', "capability[]": "authtype"}))
    lines = dict(line.split("=", 1) for line in result.out.splitlines())
    assert (result.status, result.err) == (0, "")
    assert set(lines) == {"username", "password", "password_expiry_utc"}
    assert (lines["username"], lines["password"]) == ("oauth2", user.token)
    assert time.time() < int(lines["password_expiry_utc"]) < time.time() + 86_400


@pytest.mark.parametrize("request_of_git, name", [
    (asked(protocol="https", host="git.example.com", username="bob"), "bob"),
    (asked(protocol="https", host="git.example.com", username=""), "given"),
    (asked(protocol="https", host="git.example.com", username="b\tb"), "given"),
    (asked(protocol="https", host="git.example.com", unknown="x") + "host=evil.example\n", "given"),
    ("no sign\n\xff\n" + asked(protocol="https", host="GIT.example.com:443"), "given"),
    ("protocol=https\nhost=git.example.com", "given"),
])
def test_git_names_the_user_or_else_the_option_does(user, request_of_git, name):
    result = helper(user, "git", "--host", "git.example.com", "--username", "given", "get", request=request_of_git)
    assert result.status == 0 and result.out.startswith(f"username={name}\npassword={user.token}\n")


@pytest.mark.parametrize("attributes", [
    {"protocol": "http", "host": "git.example.com"}, {"protocol": "https", "host": "evil.example"},
    {"protocol": "https", "host": "git.example.com.evil.example"}, {"protocol": "https", "host": "x.git.example.com"},
    {"protocol": "https", "host": "git.example.com:8443"}, {"protocol": "https", "host": "evil.example/git.example.com"},
    {"protocol": "https", "host": "git.example.com:18446744073709552059"},
    {"protocol": "https", "host": "git.example.com@evil.example"}, {"protocol": "https", "host": "evil.example#git.example.com"},
    {"protocol": "https", "host": "git.example.com\\@evil.example"}, {"protocol": "https", "host": "git.example.com."},
    {"protocol": "ssh", "host": "git.example.com"}, {"protocol": "", "host": "git.example.com"},
    {"protocol": "https"}, {"host": "git.example.com"}, {"protocol": "https", "host": ""},
    {"protocol": "https://git.example.com/?", "host": "evil.example"}, {"protocol": "http", "host": "127.0.0.1:81"},
    {"protocol": "https", "host": "127.0.0.1:80"}, {"protocol": "http", "host": "127.0.0.1.evil.example"},
    {"protocol": "https", "host": "git.example.com", "\0": ""} | {"host": "evil.example\0git.example.com"},
], ids=str)
def test_no_other_server_gets_the_token(user, attributes):
    result = helper(user, "git", "--host", "git.example.com", "--host", "http://127.0.0.1", "get",
                    request=asked(**attributes))
    assert (result.status, result.out, result.err) == (0, "", "")


@pytest.mark.parametrize("host", ["http://git.example.com", "a/b", "https://a/b", "a?b", "a#b", "a b", "", "u@a", "ftp://a"])
def test_no_token_is_ever_set_up_for_such_a_server(user, host):
    for words in (["helper", "git", "--host", host, "get"], ["helper", "install", "git", "--host", host]):
        assert user.vault(*words).status == 64
    assert not (user.user_home / ".gitconfig").exists()


@pytest.mark.parametrize("operation", ["store", "erase", "capability", "something-new"])
def test_git_can_store_and_erase_nothing(user, operation):
    before = user.stored()
    result = helper(user, "git", "--host", "git.example.com", operation, request=asked(
        protocol="https", host="git.example.com", username="a", password="b", oauth_refresh_token="c"))
    assert (result.status, result.out, result.err) == (0, "", "")
    assert user.stored() == before


def test_without_a_terminal_git_is_told_to_stop_and_the_person_what_to_do(user):
    words = [VAULT, "helper", "git", "--host", "git.example.com", "--user", "alice", "get"]
    result = run(words, user.environment(), asked(protocol="https", host="git.example.com"))
    assert (result.status, result.out) == (78, "quit=1\n")
    assert result.err == (
        "vault: There is no terminal to ask for the password. To log in: vault login --user alice\n")
    result = run([*words[:-1], "--password-file", "-", "get"], user.environment(), "x")
    assert result.status == 64
    result = helper(user, "git", "--host", "git.example.com", "--user", "nobody", "get",
                    request=asked(protocol="https", host="git.example.com"))
    assert (result.status, result.out) == (66, "quit=1\n")


def git(person, *words, **more):
    return run(["git", *words], person.environment(**more), timeout=30)


def test_git_itself_signs_in_with_the_token(user, web):
    setting = f"!'{VAULT}' helper git --host {web.url} --password-file {user.password_file()}"
    assert git(user, "config", "--global", f"credential.{web.url}.helper", setting).status == 0
    result = git(user, "ls-remote", f"{web.url}/repository.git")
    assert result.status == 0 and "refs/heads/main" in result.out, result
    assert set(web.passwords) == {("oauth2", user.token)}
    # After each success git stores the credential. Here no file received it.
    assert user.token not in "".join(path.read_text() for path in user.user_home.rglob("*") if path.is_file())


def test_git_itself_takes_the_token_to_no_other_server(user, web, children):
    other = Web(REFS)
    children.append(other)
    setting = f"!'{VAULT}' helper git --host {web.url} --password-file {user.password_file()}"
    assert git(user, "config", "--global", "credential.helper", setting).status == 0
    result = git(user, "ls-remote", f"{other.url}/repository.git", GIT_TERMINAL_PROMPT="0")
    assert result.status == 128 and "could not read Username" in result.err
    assert other.paths and not other.passwords


def test_git_itself_does_not_hang_without_a_terminal(user, web):
    assert user.vault("helper", "install", "git", "--host", web.url).status == 0
    result = git(user, "ls-remote", f"{web.url}/repository.git")
    assert result.status == 128 and "vault login --user" in result.err and "told us to quit" in result.err, result


def test_git_itself_at_a_terminal_has_the_password_asked_for(user, web):
    assert user.vault("helper", "install", "git", "--host", web.url).status == 0
    terminal = user.terminal(shell=f"git ls-remote {web.url}/repository.git")
    terminal.expect("Password of alice: ")
    assert not terminal.echoes
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert "refs/heads/main" in terminal.shown and set(web.passwords) == {("oauth2", user.token)}


def test_git_that_may_not_ask_at_the_terminal_does_not(user, web):
    assert user.vault("helper", "install", "git", "--host", web.url).status == 0
    terminal = user.terminal(shell=f"git ls-remote {web.url}/repository.git", env={"GIT_TERMINAL_PROMPT": "0"})
    assert terminal.end() == 128
    assert "Password" not in terminal.shown and "vault login --user" in terminal.shown


GIT_CONFIGURATIONS = [
    None, "", "[user]\n\tname = A  # a comment\n; end\n", '[credential]\n\thelper = cache\n',
    '[credential "https://git.example.com"]\n\tusername = me\n',
    '[credential "https://git.example.com"]\n\thelper = store\n',
    '[credential "https://git.example.com"]\n\thelper = \n\thelper = store\n',
]


@pytest.mark.parametrize("content", GIT_CONFIGURATIONS)
def test_installing_for_git_is_taken_back_exactly(user, content):
    path = user.user_home / ".gitconfig"
    if content is not None:
        path.write_text(content)
    words = ["git", "--host", "git.example.com", "--host", "127.0.0.1:8443"]
    first = user.vault("helper", "install", *words, "--user", "alice")
    assert first.status == 0 and "https://git.example.com" in first.out, first
    installed = path.read_text()
    assert installed.startswith((content or "").rstrip("\n"))
    helpers = git(user, "config", "--get-urlmatch", "credential.helper", "https://git.example.com/x").out
    issuer = user.settings["CREDENTIAL_VAULT_ISSUER"]
    assert helpers == f"!{VAULT} helper git --host git.example.com --user alice --issuer {issuer}\n"
    again = user.vault("helper", "install", *words, "--user", "alice")
    assert (again.status, again.out) == (0, "Nothing needed to be changed.\n") and path.read_text() == installed
    # Another account replaces the first.
    assert user.vault("helper", "install", *words, "--user", user.vault("users", "--json").json[0]["subject"]).status == 0
    assert path.read_text().count("helper git --host git.example.com") == 1
    removed = user.vault("helper", "uninstall", *words)
    assert removed.status == 0 and len(removed.out.splitlines()) == 2
    assert path.read_text() == (content or "")
    assert user.vault("helper", "uninstall", *words).out == "Nothing needed to be changed.\n"


def test_installing_takes_other_helpers_out_of_the_way(user, web):
    """A helper for all servers would see the token, and might store it unencrypted."""
    stored = user.user_home / "stored"
    git(user, "config", "--global", "credential.helper", f"store --file {stored}")
    setting = ["config", "--global", "--add", f"credential.{web.url}.helper"]
    assert user.vault("helper", "install", "git", "--host", web.url).status == 0
    # The test passes the password in a file.
    git(user, "config", "--global", "--unset-all", f"credential.{web.url}.helper", "vault helper")
    git(user, *setting, f"!'{VAULT}' helper git --host {web.url} --password-file {user.password_file()}")
    assert git(user, "ls-remote", f"{web.url}/repository.git").status == 0
    assert not stored.exists()


def test_install_needs_the_account_and_the_program(user):
    assert user.vault("helper", "install", "git", "--host", "git.example.com", "--user", "bob").status == 66
    assert user.vault("helper", "install", "git").status == 64
    result = user.vault("helper", "install", "git", "--host", "git.example.com", env={"PATH": "/nowhere"})
    assert result.status == 78 and "git is not installed" in result.err
    report = user.vault("helper", "install", "git", "--host", "git.example.com", "--json").json
    assert report == {"advice": [], "changes": ["git gets the token for https://git.example.com from vault."]}


# curl


def test_curl_itself_sends_the_token(user, web):
    web.pages["/"] = b"{}"
    configuration = helper(user, "curl", "--url", f'{web.url}/?q="a"')
    assert configuration.status == 0 and f'header = "Authorization: Bearer {user.token}"\n' in configuration.out
    result = run(["curl", "--silent", "--show-error", "--globoff", "-K", "-"], user.environment(), configuration.out)
    assert (result.status, result.out) == (0, "{}"), result
    assert web.tokens == [user.token] and web.paths == ['/?q="a"']


@pytest.mark.parametrize("method, line", [("post", 'request = "POST"'), ("HEAD", "head")])
def test_curl_gets_the_method(user, web, method, line):
    configuration = helper(user, "curl", "--url", f"{web.url}/", "--request", method)
    assert configuration.status == 0 and line in configuration.out.splitlines(), configuration
    for wrong in ("", "G T", 'GET"'):
        assert helper(user, "curl", "--url", f"{web.url}/", "--request", wrong).status == 64


def test_curl_itself_sends_nothing_over_plain_http(user, web):
    configuration = helper(user, "curl").out
    result = run(["curl", "--silent", "--show-error", "-K", "-", web.url], user.environment(), configuration)
    assert result.status == 1 and not web.paths, result
    for url in ("http://api.example.com/", "ftp://127.0.0.1/", "api.example.com", "https://user:word@api.example.com/"):
        assert helper(user, "curl", "--url", url).status == 64


# kubectl


@pytest.fixture
def cluster(user, children):
    """The API server of a cluster, over TLS, and its entry in kubectl's configuration."""
    folder = user.folder
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "server.pem", "-days",
         "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        cwd=folder, check=True, capture_output=True)
    version = {"major": "1", "minor": "32", "gitVersion": "v1.32.0"}
    server = Web({"/version": json.dumps(version).encode()}, tls(folder / "server.pem", folder / "key.pem"))
    children.append(server)
    server.certificate = folder / "server.pem"
    return server


def exec_info(version="v1", **spec):
    return json.dumps({"apiVersion": f"client.authentication.k8s.io/{version}", "kind": "ExecCredential", "spec": spec})


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_kubectl_gets_an_exec_credential(user, version):
    result = helper(user, "kubectl", KUBERNETES_EXEC_INFO=exec_info(version, interactive=False))
    assert (result.status, result.err) == (0, "")
    answer = result.json
    end = datetime.fromisoformat(answer["status"].pop("expirationTimestamp"))
    assert answer == {
        "apiVersion": f"client.authentication.k8s.io/{version}", "kind": "ExecCredential", "status": {"token": user.token}}
    assert end.tzinfo and time.time() < end.timestamp() < time.time() + 86_400


def test_kubectl_gets_the_token_for_a_named_server_alone(user):
    words = ("--host", "api.example.com:6443")
    for server, status in [
        ("https://api.example.com:6443", 0), ("https://api.example.com:6443/path", 0), ("https://api.example.com", 78),
        ("https://evil.example:6443", 78), ("http://api.example.com:6443", 78), ("https://api.example.com:6443@evil", 78),
    ]:
        info = exec_info(interactive=False, cluster={"server": server})
        result = helper(user, "kubectl", *words, KUBERNETES_EXEC_INFO=info)
        assert result.status == status and (user.token in result.out) == (status == 0), (server, result)
    result = helper(user, "kubectl", *words, KUBERNETES_EXEC_INFO=exec_info(interactive=False))
    assert result.status == 78 and "provideClusterInfo" in result.err


@pytest.mark.parametrize("info", [
    "", "{", "[]", "{}", exec_info("v2"), '{"apiVersion":"client.authentication.k8s.io/v1","kind":"Pod"}'])
def test_kubectl_of_another_kind_is_told_so(user, info):
    result = helper(user, "kubectl", KUBERNETES_EXEC_INFO=info)
    assert result.status == 78 and result.out == "" and user.token not in result.err


def test_kubectl_that_may_not_ask_does_not(user):
    """The helper gets no standard input, because kubectl uses the terminal."""
    terminal = user.terminal("helper", "kubectl", env={"KUBERNETES_EXEC_INFO": exec_info(interactive=False)})
    assert terminal.end() == 78
    assert "vault login --user" in terminal.shown and "Password" not in terminal.shown


def test_kubectl_itself_signs_in_with_the_token(user, cluster):
    installed = user.vault("helper", "install", "kubectl", "--user", "alice", "--host", cluster.authority)
    if not has("kubectl"):
        assert "kubectl is not installed" in installed.err and f"command: '{VAULT}'" in installed.err
        return
    assert installed.status == 0, installed
    path = user.user_home / ".kube/config"
    configuration = path.read_text()
    assert "interactiveMode: IfAvailable" in configuration and "provideClusterInfo: true" in configuration

    def kubectl(*words):
        return run(["kubectl", *words], user.environment(), timeout=60)

    kubectl("config", "set-cluster", "test", f"--server={cluster.url}", f"--certificate-authority={cluster.certificate}")
    kubectl("config", "set-context", "test", "--cluster=test", "--user=vault-alice")
    kubectl("config", "use-context", "test")
    failed = kubectl("get", "--raw", "/version")
    assert failed.status != 0 and "vault login --user alice" in failed.err and not cluster.tokens, failed
    # The test passes the password in a file.
    arguments = ["helper", "kubectl", "--host", cluster.authority, "--password-file", user.password_file()]
    kubectl("config", "set-credentials", "vault-alice", *(f"--exec-arg={argument}" for argument in arguments))
    result = kubectl("get", "--raw", "/version")
    assert result.status == 0 and result.json["gitVersion"] == "v1.32.0", result
    assert cluster.tokens == [user.token]


def test_installing_for_kubectl_is_taken_back_exactly(user):
    if not has("kubectl"):
        return
    path = user.user_home / ".kube/config"

    def kubectl(*words):
        assert run(["kubectl", "config", *words], user.environment()).status == 0

    kubectl("set-credentials", "other", "--token=of-somebody-else")
    kubectl("set-cluster", "test", "--server=https://api.example.com")
    before = path.read_text()
    words = ("kubectl", "--user", "alice")
    assert user.vault("helper", "install", *words).status == 0
    installed = path.read_text()
    assert "of-somebody-else" in installed and "vault-alice" in installed
    again = user.vault("helper", "install", *words)
    assert again.out == "Nothing needed to be changed.\n" and path.read_text() == installed
    assert user.vault("helper", "install", *words, "--host", "api.example.com").status == 0
    assert path.read_text().count("name: vault-alice") == 1 and "provideClusterInfo: true" in path.read_text()
    assert user.vault("helper", "uninstall", *words).status == 0
    assert path.read_text() == before
    assert user.vault("helper", "uninstall", *words).out == "Nothing needed to be changed.\n"
    kubectl("set-credentials", "vault-alice", "--token=mine")
    kept = path.read_text()
    assert user.vault("helper", "install", *words).status == 78
    assert user.vault("helper", "uninstall", *words).out == "Nothing needed to be changed.\n"
    assert path.read_text() == kept


# docker


def test_docker_gets_user_name_and_token(user):
    for server in ("registry.example.com", "https://registry.example.com", "https://registry.example.com/v2/"):
        result = helper(user, "docker", "--host", "registry.example.com", "get", request=server + "\n")
        assert (result.status, result.err) == (0, "")
        assert result.json == {"ServerURL": server, "Username": "oauth2", "Secret": user.token}
    listed = helper(user, "docker", "--host", "registry.example.com", "--username", "me", "list")
    assert listed.json == {"https://registry.example.com": "me"}


@pytest.mark.parametrize("server", [
    "evil.example", "http://registry.example.com", "registry.example.com.evil.example", "registry.example.com:5000",
    "evil.example/registry.example.com", "https://registry.example.com@evil.example/", "", "\0"])
def test_no_other_registry_gets_the_token(user, server):
    result = helper(user, "docker", "--host", "registry.example.com", "get", request=server)
    assert (result.status, result.out) == (1, "credentials not found in native keychain\n")


def test_docker_can_store_and_erase_nothing(user):
    def stored(server):
        request = json.dumps({"ServerURL": server, "Username": "a", "Secret": "of-somebody"})
        return helper(user, "docker", "--host", "registry.example.com", "store", request=request)

    before = user.stored()
    result = stored("registry.example.com")
    assert (result.status, result.out, result.err) == (0, "", "")
    # The command does not silently lose another registry's password.
    result = stored("other.example.com")
    assert result.status == 1 and "nothing was stored" in result.out and "of-somebody" not in result.out
    assert helper(user, "docker", "--host", "registry.example.com", "erase", request="registry.example.com").status == 0
    assert user.stored() == before


def test_docker_is_told_on_standard_output_what_went_wrong(user):
    words = [VAULT, "helper", "docker", "--host", "registry.example.com", "--user", "alice", "get"]
    result = run(words, user.environment(), "registry.example.com")
    assert result.status == 78 and "vault login --user alice" in result.out


@pytest.fixture
def engine(children):
    """Imitates the part of an engine that docker's client needs to pull an image. It records the credentials."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.answer(b"OK" if self.path.endswith("/_ping") else b"{}")

        do_HEAD = do_GET

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            seen.append(json.loads(base64.urlsafe_b64decode(self.headers["X-Registry-Auth"])))
            self.answer(b'{"status":"done"}\n')

        def answer(self, content):
            self.send_response(200)
            self.send_header("Api-Version", "1.45")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *arguments):
            pass

    class Engine:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        url = f"tcp://127.0.0.1:{server.server_address[1]}"
        pulled_by = seen

        def kill(self):
            self.server.shutdown()
            self.server.server_close()

    engine = Engine()
    engine.server.daemon_threads = True
    threading.Thread(target=engine.server.serve_forever, daemon=True).start()
    children.append(engine)
    return engine


def test_docker_itself_signs_in_with_the_token(user, engine):
    if not has("docker"):
        return
    installed = user.vault("helper", "install", "docker", "--user", "alice", "--host", "registry.example.com")
    folder = user.user_home / ".local/bin"
    assert installed.status == 0 and f"Add {folder} to PATH." in installed.err
    script = folder / "docker-credential-vault-registry.example.com"

    def pull(image):
        path = f"{folder}:{user.environment()['PATH']}"
        return run(["docker", "pull", image], user.environment(PATH=path, DOCKER_HOST=engine.url), timeout=60)

    pull("registry.example.com/image")  # docker continues without a password, and does not say why
    assert engine.pulled_by and all(user.token not in str(who) for who in engine.pulled_by)
    engine.pulled_by.clear()
    # The test passes the password in a file.
    script.write_text(script.read_text().replace('"$@"', f'--password-file {user.password_file()} "$@"'))
    result = pull("registry.example.com/image")
    assert result.status == 0, result
    assert [(who["username"], who["password"]) for who in engine.pulled_by] == [("oauth2", user.token)]
    engine.pulled_by.clear()
    assert pull("other.example.com/image").status == 0
    assert all(user.token not in str(who) for who in engine.pulled_by)


@pytest.mark.parametrize("content", [
    None, {"auths": {"a.example": {"auth": "c2VjcmV0"}}, "n": 12345678901, "x": ["ü", None, 1.5, True]},
    {"credHelpers": {"b.example": "other"}, "credsStore": "desktop"}])
def test_installing_for_docker_is_taken_back_exactly(user, content):
    path = user.user_home / ".docker/config.json"
    if content is not None:
        path.parent.mkdir()
        path.write_text(json.dumps(content))
        path.chmod(0o640)
    words = ("docker", "--host", "registry.example.com", "--host", "localhost:5000")
    assert user.vault("helper", "install", *words, "--user", "alice").status == 0
    assert path.stat().st_mode & 0o777 == (0o600 if content is None else 0o640)
    installed = json.loads(path.read_text())
    helpers = {"registry.example.com": "vault-registry.example.com", "localhost:5000": "vault-localhost:5000"}
    assert installed == (content or {}) | {"credHelpers": (content or {}).get("credHelpers", {}) | helpers}
    again = user.vault("helper", "install", *words, "--user", "alice")
    assert again.out == "Nothing needed to be changed.\n" and json.loads(path.read_text()) == installed
    assert user.vault("helper", "uninstall", *words).status == 0
    assert json.loads(path.read_text()) == (content or {})
    assert not list((user.user_home / ".local/bin").iterdir())
    assert sorted(name.name for name in path.parent.iterdir()) == ["config.json"]
    assert user.vault("helper", "uninstall", *words).out == "Nothing needed to be changed.\n"


def test_installing_for_docker_keeps_what_is_not_vaults(user):
    path = user.user_home / ".docker/config.json"
    path.parent.mkdir()
    words = ("docker", "--host", "registry.example.com")
    for content in ('{"credHelpers": {"registry.example.com": "other"}}', "{", "[]", '{"credHelpers": 1}'):
        path.write_text(content)
        assert user.vault("helper", "install", *words).status == 78
        user.vault("helper", "uninstall", *words)
        assert path.read_text() == content
    path.write_text("{}")
    script = user.user_home / ".local/bin/docker-credential-vault-registry.example.com"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("#!/bin/sh\n")
    assert user.vault("helper", "install", *words).status == 78
    assert user.vault("helper", "uninstall", *words).status == 0
    assert script.read_text() == "#!/bin/sh\n"
