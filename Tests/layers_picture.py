"""The picture of the layers in the article Architecture. `Tests/layers.py --write` makes it; the check compares it."""

# From top to bottom: the title of a layer, its targets, and the mechanisms that implement its seams.
LAYERS = [
    ("Programs", "vault vault-command vault-key-service vault-dev", None),
    ("What the programs are made of", "VaultCommands KeyServiceServer VaultDevelopment", None),
    ("For a window, and for a service", "VaultObservation VaultLifecycle", None),
    ("Front door", "CredentialVault", None),
    ("The agent, and servers that are no OpenID providers", "VaultAgent VaultBackends", None),
    ("Sessions and signing in", "VaultAuth", None),
    ("Opening accounts, devices, backups", "VaultUnlock", None),
    ("Accounts, keyslots, items: data only", "VaultStorage", ("store", ["VaultSQLite"])),
    ("To the outside", "OpenIDConnect KeyServiceClient", None),
    ("Seams for hardware and the screen", "VaultBiometric VaultBackground",
     ("devices", ["VaultTPM2, VaultPKCS11,", "VaultFIDO2, VaultLogind,", "VaultSecretService"])),
    ("Secrets, HTTP, messages", "VaultCrypto VaultHTTP KeyServiceAPI VaultAgentProtocol", ("HTTP", ["VaultNetworking"])),
    ("Small tools", "VaultBase", None),
]  # fmt: skip
# The server of the key service has layers of its own. VaultDBus is a part of two mechanisms. The other targets are for
# tests and for the manual.
ELSEWHERE = {
    "KeyServiceCore", "KeyServiceSQLite", "KeyServicePostgreSQL", "KeyServiceAudit", "VaultDBus", "VaultManual",
    "VaultTesting",
}  # fmt: skip
COLOURS = {
    "": dict(text="#1f2328", soft="#59636e", step="#0969da", good="#1a7f37", box="#f6f8fa", edge="#d0d7de", back="#ffffff"),
    "~dark": dict(
        text="#f0f6fc", soft="#9198a1", step="#58a6ff", good="#3fb950", box="#161b22", edge="#3d444d", back="#0d1117"),
}  # fmt: skip
TEXT = (
    "From top to bottom: {titles}. A target imports only targets of lower layers. Beside the layers stand the mechanisms: "
    "SQLite, the hardware providers, logind, the desktop's keyring and networking. Each mechanism implements a seam. "
    "Only the front door and the programs import mechanisms."
)
STYLE = """text {{ font-family: -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; font-size: 15px; fill: {text} }}
.head {{ font-size: 17px; font-weight: 600 }}
.soft {{ fill: {soft}; font-size: 14px }}
.step {{ fill: {step}; font-size: 14px; font-weight: 600 }}
.good {{ fill: {good}; font-size: 14px; font-weight: 600 }}
.box {{ fill: {box}; stroke: {edge}; stroke-width: 1.5 }}
.chip {{ fill: {back}; stroke: {edge}; stroke-width: 1.5 }}
.mechanism {{ fill: {back}; stroke: {good}; stroke-width: 1; stroke-dasharray: 5 4 }}
.line {{ stroke: {step}; stroke-width: 2; fill: none }}"""
STEP, HEIGHT, LEFT, WIDTH = 76, 68, 46, 610


def targets() -> set[str]:
    """Returns all targets of the picture."""
    mechanisms = [line for _, _, mechanism in LAYERS if mechanism for line in mechanism[1]]
    return {name for _, names, _ in LAYERS for name in names.split()} | set(" ".join(mechanisms).replace(",", "").split())


def text(x: float, y: float, kind: str, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{words}</text>'


def layer(top: int, title: str, names: list[str]) -> list[str]:
    drawn = [
        f'<rect class="box" x="{LEFT}" y="{top}" width="{WIDTH}" height="{HEIGHT}" rx="10"/>',
        text(LEFT + 14, top + 20, "soft", title, "start"),
    ]
    widths = [max(100, 8.8 * len(name) + 22) for name in names]
    x = LEFT + (WIDTH - sum(widths) - 9 * (len(names) - 1)) / 2
    for name, width in zip(names, widths):
        drawn.append(f'<rect class="chip" x="{x:g}" y="{top + 28}" width="{width:g}" height="32" rx="8"/>')
        drawn.append(text(x + width / 2, top + 49, "", name))
        x += width + 9
    return drawn


def mechanism(top: int, seam: str, lines: list[str]) -> list[str]:
    middle = top + HEIGHT / 2
    first = middle + 5 - 11 * (len(lines) - 1)
    return [
        f'<rect class="mechanism" x="746" y="{top}" width="214" height="{HEIGHT}" rx="8"/>',
        *(text(853, first + 22 * number, "good", line) for number, line in enumerate(lines)),
        f'<path class="line" d="M742 {middle:g} 660 {middle:g}" marker-end="url(#tip)"/>',
        text(701, middle - 8, "step", seam),
    ]


def picture(colours: dict[str, str]) -> str:
    """Returns the picture as SVG."""
    height = 14 + STEP * len(LAYERS) + 34
    titles = ", ".join(title[0].lower() + title[1:] for title, _, _ in LAYERS)
    first = next(number for number, (_, _, mechanism) in enumerate(LAYERS) if mechanism)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 970 {height}" role="img" aria-labelledby="title text">',
        '<title id="title">The targets as layers</title>',
        f'<desc id="text">{TEXT.format(titles=titles)}</desc>',
        f"<style>\n{STYLE.format(**colours)}\n</style>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path d="M0 0 10 5 0 10z" fill="{colours["step"]}"/></marker></defs>',
        f'<rect width="970" height="{height}" fill="{colours["back"]}"/>',
    ]
    for number, (title, names, behind) in enumerate(LAYERS):
        drawn += layer(14 + STEP * number, title, names.split())
        if behind:
            drawn += mechanism(14 + STEP * number, *behind)
    bottom = 14 + STEP * (len(LAYERS) - 1) + HEIGHT - 8
    drawn += [
        f'<path class="line" d="M22 24 22 {bottom}" marker-end="url(#tip)"/>',
        f'<text class="step" text-anchor="middle" transform="translate(38 {bottom / 2:g}) rotate(-90)">'
        "imports only what lies below</text>",
        text(853, STEP * first - 60, "head", "Mechanisms"),
        text(853, STEP * first - 38, "soft", "each implements a seam of"),
        text(853, STEP * first - 20, "soft", "the layer beside it"),
        text(485, height - 14, "soft",
             "Only CredentialVault, the programs and apps import mechanisms. VaultTesting has fakes for the seams."),
        "</svg>",
    ]  # fmt: skip
    return "\n".join(drawn) + "\n"
