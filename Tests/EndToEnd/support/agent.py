"""The status that a person's agent reports."""

import json


def socket_of(runtime):
    return next((runtime / "credential-vault").glob("*.sock"))


def agent_status(person):
    return json.loads(person.vault("agent", "status", "--json").out)


def agent_process(person):
    return agent_status(person)["process"]
