"""Signs files as minisign does: Ed25519 over the file's BLAKE2b-512."""

import base64
import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class Signer:
    def __init__(self, name=b"organise"):
        self.private = Ed25519PrivateKey.generate()
        self.id = name
        self.public = self.private.public_key().public_bytes_raw()
        self.key = base64.b64encode(b"Ed" + name + self.public).decode()

    @property
    def fingerprint(self):
        """The fingerprint that `vault setup` shows."""
        digits = hashlib.sha512(b"credential-vault/minisign/fingerprint" + self.public).hexdigest()[:20]
        return "-".join(digits[start:start + 4] for start in range(0, 20, 4))

    def signature(self, content, comment=b"the settings of this year"):
        signature = self.private.sign(hashlib.blake2b(content).digest())
        lines = [
            b"untrusted comment: signature", base64.b64encode(b"ED" + self.id + signature),
            b"trusted comment: " + comment, base64.b64encode(self.private.sign(signature + comment))]
        return b"\n".join(lines) + b"\n"

    def write(self, path, content, **options):
        """Writes a file, and its signature beside it."""
        path.write_bytes(content)
        path.with_name(path.name + ".minisig").write_bytes(self.signature(content, **options))
        return path
