"""What a person has at a `vault-dev`, made once and then copied for each test."""

import shutil
import time

MAXIMUM_AGE = 45  # seconds; a copy's access token has most of its 300 seconds left


class Prepared:
    """Copies of a person's files and of the services' data, of the same moment.

    Whoever gets the copies also gets services that are set back to that moment. So no other test has used the tokens,
    guessed at the keys, or changed the password.
    """

    def __init__(self, person, services, folder):
        self.folder = folder
        self.made_at = time.time()  # the clock of the tokens
        services.save(folder / "services")
        for source in files_of(person.folder):
            copy(source, folder / "person" / source.name)

    @property
    def is_fresh(self):
        return 0 <= time.time() - self.made_at < MAXIMUM_AGE

    def give(self, person, services):
        services.set_back(self.folder / "services")
        for source in files_of(self.folder / "person"):
            copy(source, person.folder / source.name)

    def remove(self):
        shutil.rmtree(self.folder)


def files_of(folder):
    """The person's store and settings, and the files beside them. Other folders and programs' output are no part of
    them."""
    return [path for path in folder.iterdir()
            if path.name in ("home", "config") or path.is_file() and not path.name.startswith("program-")]


def copy(source, target):
    """Replaces what is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
    else:
        shutil.copy2(source, target)
