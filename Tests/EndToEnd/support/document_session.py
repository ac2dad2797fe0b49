"""The console session of a document: its commands are typed, and their output is compared with the document."""

import re

from .documents import comparable, fits


def differences(blocks, terminal, folder, stand_ins=()):
    """Types the commands of the blocks. Returns a text for each output that differs from the document.

    `terminal()` opens a shell. Files of the document come into the folder. Each pair of `stand_ins` has a text of the
    document, such as the address of a provider, and the text in its place during the test.
    """
    shell, other, found = terminal(), None, []
    for block in blocks:
        if block.reason is not None:
            continue
        if block.file is not None:
            (folder / block.file).write_text(_replaced(block.text, stand_ins))
            continue
        if block.language != "console":
            continue
        if block.is_elsewhere:
            for command, shown in block.steps:
                other = terminal()
                other.start(command, re.escape(shown[-1].strip("…")) if shown else r"\S")
            continue
        if block.is_after_stop:
            other.stop()
        for index, (command, expected) in enumerate(block.steps):
            # The person's answers belong to the last command of the block.
            typed = block.typed if index == len(block.steps) - 1 else ()
            shown = shell.run(_replaced(command, stand_ins), typed)
            shown = _replaced(shown, [(test, document) for document, test in stand_ins])
            wanted = "\n".join(expected)
            if not fits(shown, wanted):
                found.append(
                    f"{block}: {command}\n--- the document:\n{comparable(wanted)}\n--- it showed:\n{comparable(shown)}\n")
    return found


def _replaced(text, pairs):
    for old, new in pairs:
        text = text.replace(old, new)
    return text
