"""Measures the key service over PostgreSQL: against pgbench, which runs the same two statements for each guess, and
refusals against each other."""

import contextlib
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import oprf
from measuring import report

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "EndToEnd"))

from support.postgres import Cluster, programs  # noqa: E402

KEYS = 256
CONNECTIONS = 32
# A charge, and the settling of a right guess, each durable. The service sends them in batches.
SCRIPT = f"""
\\set key random(1, {KEYS})
\\set ticket random(1, 9000000000000000)
UPDATE key_service.key_record k SET version = version + 1, wrong_in_all = wrong_in_all + 1,
    guesses = '\\x01'::bytea || decode(lpad(to_hex(:ticket::bigint), 48, '0'), 'hex')
FROM key_service.service s WHERE k.id = 'bench-' || :key AND k.state = 0 AND k.wrong_in_all < s.max_guesses_total
RETURNING k.number, k.created_at, k.kind, k.details, k.master_key, k.content;
UPDATE key_service.key_record SET version = version + 1, wrong_in_all = greatest(wrong_in_all - 1, 0), guesses = NULL,
    last_used_at = 1
WHERE id = 'bench-' || :key;
"""
BENCH_KEYS = f"""
INSERT INTO key_service.key_record (id, created_at, kind, details, master_key, content, state, wrong_in_all)
SELECT 'bench-' || n, 1, 1, k.details, k.master_key, k.content, 0, 0
FROM generate_series(1, {KEYS}) n, (SELECT * FROM key_service.key_record LIMIT 1) k
"""


def measure(program, rounds, seconds, folder, make_keys, load):
    """`make_keys(base, count)` makes keys and returns a script for wrk, `load(url, seconds, connections, script)`
    returns the answers per second."""
    rate(program, seconds, folder, make_keys, load)
    # With a standby, a write would take longest: its commit waits for two disks.
    with serving(program, folder / "refusals-shared", with_standby=True) as (_, base):
        oprf.refusals(base, rounds, "PostgreSQL")


@contextlib.contextmanager
def serving(program, folder, with_standby=False):
    """Runs a service over a cluster of its own. Yields the cluster and the service's address."""
    cluster = Cluster()
    process = None
    try:
        cluster.primary.set("fsync", "on")
        if with_standby:
            cluster.add_standby()
        folder.mkdir()
        place = ["--data", folder / "keys", "--database-url", cluster.url]
        subprocess.run([program, "init", *place], check=True, stdout=subprocess.DEVNULL)
        log = open(folder / "log", "w")
        process = subprocess.Popen(
            [program, "serve", *place, "--listen", "127.0.0.1:0", "--refusals-per-minute", "0"], stdout=subprocess.PIPE,
            stderr=log, text=True)
        yield cluster, process.stdout.readline().split()[-1]
    finally:
        if process is not None:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        cluster.kill()


def rate(program, seconds, folder, make_keys, load):
    with serving(program, folder / "shared") as (cluster, base):
        script = make_keys(base, KEYS)
        cluster.primary.sql(BENCH_KEYS)
        cluster.primary.sql("VACUUM ANALYZE")
        pgbench_script = folder / "guess.sql"
        pgbench_script.write_text(SCRIPT)
        served, raw = [], []
        for _ in range(3):
            served.append(load(base + "/keyservice/v1/key", seconds, CONNECTIONS, script))
            raw.append(pgbench(cluster.primary.folder, seconds, pgbench_script))
        report(
            f"key service over PostgreSQL, cv1 secrets / pgbench with the same statements, {CONNECTIONS} connections",
            statistics.median(served) / statistics.median(raw), f"{min(served):.0f}–{max(served):.0f}/s", 0.7,
            f"{statistics.median(served):.0f}/s against {statistics.median(raw):.0f}/s ({min(raw):.0f}–{max(raw):.0f}/s)",
            at_least=True)


def pgbench(host, seconds, script):
    """Returns the guesses per second: one charge and one settling each."""
    text = subprocess.check_output(
        [programs() / "pgbench", "-n", "-M", "prepared", "-c", str(CONNECTIONS), "-j", "2", "-T", str(seconds), "-f",
         script, "-h", host, "-U", "vault", "vault"], text=True, stderr=subprocess.STDOUT)
    (line,) = [line for line in text.splitlines() if line.startswith("tps =")]
    return float(line.split()[2])
