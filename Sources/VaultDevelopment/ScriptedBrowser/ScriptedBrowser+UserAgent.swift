public import VaultAuth

extension ScriptedBrowser: UserAgent {}
