"""A million ids as a roaring64 and as a bigint[], out and in, by each driver.

usage: PYTHONPATH=.:tests python benchmark.py [driver of tests/drivers.py ...]

PGHOST and so on name the server, which has to be on this Linux machine.  Prints Markdown.  Times
are medians in milliseconds of processor time, of this process and of the server's, so that what
else the machine does counts less; a set arrives as a bitmap, and an array as a list of ints.
"""

from __future__ import annotations

import asyncio
import pathlib
import random
import statistics
import sys
import time

from drivers import DRIVERS

import roaring64

RUNS = 3


def median(run, backend=None):
    """Milliseconds."""

    def now():
        served = int(backend.read_text().split()[0]) if backend else 0
        return (time.process_time_ns() + served) / 1e6

    times = []
    for _ in range(RUNS):
        began = now()
        run()
        times.append(now() - began)
    return statistics.median(times)


def main():
    random.seed(1)
    ids = sorted(random.sample(range(-5_000_000, 5_000_000), 1_000_000))
    bitmap = roaring64.bitmap(ids)
    loop = asyncio.new_event_loop()
    print("| driver | out: set | bigint[] | ratio | in: set | bigint[] | ratio | register |")
    print("|---|---|---|---|---|---|---|---|")
    for name in sys.argv[1:] or DRIVERS:
        kind, binary = DRIVERS[name]
        driver = kind(loop.run_until_complete, binary)
        ((pid,),) = driver.run("SELECT pg_backend_pid()")
        backend = pathlib.Path(f"/proc/{pid}/schedstat")
        register = median(driver.register, backend)
        driver.run("CREATE TEMP TABLE t (read roaring64, ids bigint[])")
        driver.run("INSERT INTO t VALUES ({}, {})", bitmap, ids)
        out = [
            median(lambda column=c: driver.run(f"SELECT {column} FROM t"), backend) for c in ("read", "ids")
        ]
        sent = [
            median(lambda value=v, type=t: driver.run(f"SELECT ({{}}::{type}) IS NULL", value), backend)
            for v, t in ((bitmap, "roaring64"), (ids, "bigint[]"))
        ]
        cells = [out[0], out[1], out[1] / out[0], sent[0], sent[1], sent[1] / sent[0], register]
        print(f"| {name} |", " | ".join(f"{cell:.1f}" for cell in cells), "|", flush=True)
        (size,) = driver.run(
            "SELECT octet_length(roaring64_send(read)), octet_length(array_send(ids)), "
            "length(read::text), length(ids::text) FROM t"
        )
        driver.close()
    print(f"\nBytes: binary {size[0]} and {size[1]}, text {size[2]} and {size[3]}.")
    print(f"bitmap() of the list: {median(lambda: roaring64.bitmap(ids)):.1f} ms")
    print(f"ids() of the bitmap: {median(lambda: roaring64.ids(bitmap)):.1f} ms")
    print(f"to_numpy() of the bitmap: {median(lambda: roaring64.to_numpy(bitmap)):.1f} ms")


if __name__ == "__main__":
    main()
