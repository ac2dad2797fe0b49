"""Completion in the shells: commands, options, and the names of accounts, unlock methods and items on this machine."""

import re

import pexpect
import pytest
from support.programs import VAULT, run
from support.waiting import TIMEOUT

CHECKS = [("bash", ["bash", "-c"]), ("zsh", ["zsh", "-fc"]), ("fish", ["fish", "-Nc"])]


@pytest.mark.parametrize("shell, check", CHECKS)
def test_the_completion_script_loads(person, shell, check):
    result = person.vault("completion", shell)
    assert (result.status, result.err) == (0, "")
    assert "passwd" in result.out
    assert person.vault("completion", shell, "--json").json["script"].strip() == result.out.strip()
    script = person.folder / "script"
    script.write_text(result.out)
    prepare = "autoload -Uz compinit && compinit -u -D && " if shell == "zsh" else ""
    loaded = run([*check, f"{prepare}. '{script}'" + ("; complete -p vault" if shell == "bash" else "")])
    assert (loaded.status, loaded.err) == (0, "")


class CompletingShell:
    """A person's shell, with the completion script of `vault`."""

    def __init__(self, person, shell):
        self.person, self.shell = person, shell
        self.script = person.folder / f"vault.{shell}"
        self.script.write_text(person.vault("completion", shell).out)
        folder = VAULT.rsplit("/", 1)[0]
        self.environment = person.environment(TERM="dumb", PATH=f"{folder}:/usr/bin:/bin", ZDOTDIR=person.folder)

    def complete(self, line, key="\x18a"):
        """Returns the shell's suggestions for the last word of the line, as the command would receive them.

        The usual key inserts all of them. The tab key inserts what they have in common.
        """
        if self.shell == "fish":
            shown = self.run(
                ["fish", "-N", "-i"], "", f"complete -C {quoted(line)} | string replace -r '^' '<['; echo '<sho''wn>'")
            return sorted(re.findall(r"^<\[([^\t\r\n]*)", shown, re.M))
        if self.shell == "bash":
            start = ["bash", "--norc", "--noprofile", "-i"]
            prepare = "bind 'set enable-bracketed-paste off'; bind '\"\\C-xa\": insert-completions'"
        else:
            start = ["zsh", "-f", "-i"]
            prepare = "autoload -Uz compinit; compinit -u -D; bindkey -e; bindkey '^Xa' all; " \
                "all() { _main_complete; compstate[insert]=all; }; zle -C all complete-word all"
        show = "show() { printf '<[%s]>\\n' \"$@\"; echo '<sho''wn>'; }"
        # The shell inserts all suggestions. Then the line becomes the arguments of a command that prints them.
        shown = self.run(start, f"{prepare}; {show}", f"{line}{key}\x01show ")
        words = re.findall(r"<\[(.*)\]>", shown)
        return sorted(words[len(line.split(" ")) - 1:])

    def run(self, start, prepare, line):
        """Types a line and returns the shell's output."""
        return self.type(start, prepare, line + "\r", "<shown>")

    def type(self, start, prepare, keys, end):
        """Types keys and returns the shell's output, up to the end."""
        child = pexpect.spawn(
            start[0], start[1:], env=self.environment, cwd=str(self.person.folder), timeout=TIMEOUT, encoding="utf-8",
            dimensions=(60, 500), echo=False)
        child.delaybeforesend = None
        try:
            child.sendline(f"{prepare}; . '{self.script}'; echo '<rea''dy>'".lstrip("; "))
            child.expect_exact("<ready>")
            child.send(keys)
            child.expect_exact(end)
            return child.before
        finally:
            child.close(force=True)


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def completion(person, command, argument, *words, env=None):
    """Asks for suggestions as a shell's completion script does."""
    words = ("vault", *command.split(), *words)
    return person.vault(
        "---completion", *command.split(), "--", argument, str(len(words) - 1), str(len(words[-1])), *words, env=env)


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request):
    return request.param


@pytest.fixture
def people(person, services):
    """alice with an alias and items, and bob with the provider's name for him."""
    services.prepare("people", person, lambda: make_people(person))
    return person


def make_people(person):
    person.registered("--alias", "alice-at-work").registered(user="bob")
    set_items(person, "api-key", "Database password")


def set_items(person, *names):
    for name in names:
        result = person.vault(
            "item", "set", name, "--user", "alice-at-work", "--password-file", person.password_file(), input=b"x",
            stdin=None)
        assert result.status == 0, result


def test_commands_and_options(person, shell):
    shell = CompletingShell(person, shell)
    assert shell.complete("vault pas") == ["passwd"]
    assert shell.complete("vault unlock a") == ["add"]
    assert "--user" in shell.complete("vault token --us")


def test_the_names_of_accounts(people, shell):
    assert CompletingShell(people, shell).complete("vault login --user ") == ["alice-at-work", "bob"]


def test_the_names_of_items(people, shell):
    shell = CompletingShell(people, shell)
    assert shell.complete("vault item get ") == ["Database password", "api-key"]
    assert shell.complete("vault item rm --user alice-at-work ap") == ["api-key"]
    assert shell.complete("vault item get --user bob ") in ([], [""])
    assert shell.complete("vault exec --item ap") == ["api-key=API_KEY"]


def test_the_names_of_items_with_a_slash(people, shell):
    set_items(people, "mail/home", "mail/work/imap", "mail/a b")
    shell = CompletingShell(people, shell)
    assert shell.complete("vault item get mail/") == ["mail/a b", "mail/home", "mail/work/imap"]
    assert shell.complete("vault item get mail/w") == ["mail/work/imap"]


def test_bash_lists_a_name_with_a_slash_as_a_whole(people):
    set_items(people, "mail/work/imap", "mail/a b")
    shown = CompletingShell(people, "bash").type(
        ["bash", "--norc", "--noprofile", "-i"], "bind 'set enable-bracketed-paste off'",
        "vault item get mail/\t\t\x01echo '<sho''wn>' # \r", "<shown>")
    assert re.search(r"^mail/a b +mail/work/imap *\r$", shown, re.M), shown


def test_bash_takes_no_name_of_an_item_for_a_folder(people):
    for name in ("api-key", "letters"):
        (people.folder / name).mkdir()
    shell = CompletingShell(people, "bash")
    assert shell.complete("vault item get api", "\t") == ["api-key"]
    # A file to import is one.
    assert shell.complete("vault import lett", "\t") == ["letters/"]


def test_the_unlock_methods(people, shell):
    pin = people.password_file("739146", "pin")
    added = people.vault(
        "unlock", "add", "pin", "--user", "bob", "--password-file", people.folder / "password-of-bob", "--new-pin-file",
        pin)
    assert added.status == 0, added
    assert people.vault("unlock", "rename", "pin", "short one", "--user", "bob").status == 0
    shell = CompletingShell(people, shell)
    assert shell.complete("vault unlock rename --user bob ") == ["password", "pin", "short one"]
    assert shell.complete("vault unlock add rec") == ["recovery"]


def test_settings_methods_and_commands(person, shell):
    shell = CompletingShell(person, shell)
    assert shell.complete("vault config set idle") == ["idle-timeout"]
    assert shell.complete("vault register --method pass") == ["password", "password-grant"]
    assert shell.complete("vault manual unlock re") == ["remove", "rename", "reset"]


@pytest.mark.parametrize("name", [
    "$(touch ran)", "`touch ran`", "!touch ran", "a;touch ran", "it's : \\ \"all\"", "a|b & <c> (d) {e,f} * ~ # [g]?"])
def test_a_name_that_a_shell_would_read_is_not_run(people, shell, name):
    """Such a name can come from an identity provider."""
    people.sql("UPDATE account SET alias = ? WHERE alias IS NOT NULL", name)
    offered = CompletingShell(people, shell).complete("vault login --user ")
    # The shell would insert these characters without quotes.
    unquoted = {"bash": "$`!", "zsh": "!", "fish": ""}[shell]
    assert offered == (["bob"] if set(name) & set(unquoted) else sorted([name, "bob"]))
    assert not (people.folder / "ran").exists()


def test_a_name_that_moves_the_cursor_is_left_out(people):
    people.sql("UPDATE account SET alias = ? WHERE alias IS NOT NULL", "evil\x1b]0;title\x07")
    assert completion(people, "login", "--user", "--user", "").out.split() == ["bob"]


def test_an_e_mail_address_is_offered_for_one(people):
    assert completion(people, "login", "--user", "--user", "alice@").out == "alice@example.com\n"
    # bash splits an e-mail address into words.
    for words in (["alice@example.com"], ["alice", "@", "example.com"]):
        assert completion(people, "item get", "positional@0", "--user", *words, "").out.splitlines() == [
            "Database password", "api-key"]


def test_nothing_is_said_asked_or_changed(people):
    before, files = people.stored(), people.database.read_bytes()
    for command, argument in [("login", "--user"), ("item get", "positional@0"), ("unlock remove", "positional@0")]:
        result = completion(people, command, argument, "")
        assert (result.status, result.err) == (0, "") and result.out.strip()
    assert (people.stored(), people.database.read_bytes()) == (before, files)


def test_without_a_store_none_is_made(person):
    result = completion(person, "login", "--user", "--user", "")
    assert (result.status, result.out.strip(), result.err) == (0, "", "")
    assert not person.home.exists()


@pytest.mark.parametrize("damage", ["INSERT INTO grdb_migrations VALUES ('of-the-future')", "PRAGMA application_id = 7"])
def test_a_store_of_another_version_offers_nothing(alice, damage):
    alice.sql(damage)
    before = alice.database.read_bytes()
    result = completion(alice, "login", "--user", "--user", "")
    assert (result.status, result.out.strip(), result.err) == (0, "", "")
    assert alice.database.read_bytes() == before


def test_a_damaged_store_and_settings_offer_nothing(alice):
    alice.config_home.joinpath("credential-vault").mkdir(parents=True, exist_ok=True)
    alice.config_home.joinpath("credential-vault/config.json").write_text("{")
    result = completion(alice, "login", "--user", "--user", "")
    assert (result.status, result.out.strip(), result.err) == (0, "", "")
    alice.config_home.joinpath("credential-vault/config.json").unlink()
    alice.home.chmod(0o755)
    result = completion(alice, "login", "--user", "--user", "")
    assert (result.status, result.out.strip(), result.err) == (0, "", "")


def test_a_script_of_another_version_gets_no_error_text(alice):
    for words in (["nothing", "--", "--user", "1", "0"], ["login", "--", "--gone", "1", "0", "vault"], []):
        result = alice.vault("---completion", *words)
        assert (result.out, result.err) == ("", "")
        assert result.status != 0
