"""The questions of test/bench/beside, which says what this is."""

import argparse
import csv
import io
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import chdb
import duckdb
import numpy as np
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pyroaring
import redis
import tantivy
from chdb import session as chdb_session

SEED = 20261125
OURS = "roaring64"
BY_ROW = "SETTINGS index_granularity = 1"  # ClickHouse reads one set, and not those beside it


class Beside:
    """The connections, the size of the data, and what was printed."""

    def __init__(self, work: Path, quick: bool, rounds: int):
        self.work = work
        self.scale = 100 if quick else 1
        self.rounds = rounds
        self.random = np.random.default_rng(SEED)
        self.pg = psycopg.connect(autocommit=True, prepare_threshold=None)
        self.pg.execute("CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE")
        self.duck = duckdb.connect(str(work / "duck.db"))
        self.click = chdb_session.Session(str(work / "click"))
        self.differ = 0

    def sql(self, query, *args):
        """All rows of a statement in PostgreSQL."""
        cursor = self.pg.execute(query, args or None)
        return cursor.fetchall() if cursor.description else []

    def house(self, query):
        """All rows of a statement in ClickHouse, numbers as such."""
        text = str(self.click.query(query, "CSV"))
        return [tuple(int(v) if v.lstrip("-").isdigit() else v for v in row) for row in csv.reader(io.StringIO(text))]

    def copy(self, table: str, data: pl.DataFrame):
        """Fills a table in PostgreSQL."""
        with self.pg.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)") as copy:
            for part in data.iter_slices(500_000):
                copy.write(part.write_csv(include_header=False))

    def size(self, *tables):
        return sum(self.sql("SELECT pg_total_relation_size(%s::regclass)", t)[0][0] for t in tables)


def normal(answer):
    """An answer in the form in which answers are compared."""
    if hasattr(answer, "rows"):
        answer = answer.rows()
    if isinstance(answer, (list, tuple)):
        return sorted(
            tuple(int(v) if isinstance(v, (bool, np.integer)) else v for v in row)
            if isinstance(row, (list, tuple))
            else (row,)
            for row in answer
        )
    return [(answer,)]


def timed(ask):
    began = time.perf_counter()
    answer = ask()
    return (time.perf_counter() - began) * 1000, answer


def settled(ask):
    """The time of a question; a short one is asked again, as threads of the system that was asked before go on."""
    first = timed(ask)[0]
    return first if first > 50 else min(first, *(timed(ask)[0] for _ in range(2)))


def form(value):
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


class Table:
    """A table of medians: a row for each question, a column for each system."""

    def __init__(self, beside: Beside, title: str, *systems: str):
        self.beside = beside
        self.systems = systems
        print(f"\n### {title}\n")
        print("| | " + " | ".join(systems) + " |")
        print("|---|" + "---:|" * len(systems))

    def row(self, name: str, **figures):
        """Figures that were measured elsewhere, by the system's first word."""
        cells = [form(figures.get(re.sub("[^a-z0-9]", "", s.split()[0].lower()))) for s in self.systems]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)

    def ask(self, name: str, asks: dict):
        """Asks all systems in turn; the first answer is the one that others must give."""
        expected = None
        for system, ask in asks.items():
            answer = normal(ask())
            if expected is None:
                expected = answer
            elif answer != expected:
                self.beside.differ += 1
                print(f"{name}: {system} differs: {str(answer)[:200]} {str(expected)[:200]}", file=sys.stderr)
        times = {system: [] for system in asks}
        for _ in range(self.beside.rounds):
            for system, ask in asks.items():
                times[system].append(settled(ask))
        medians = {s: statistics.median(t) for s, t in times.items()}
        print(f"| {name} | " + " | ".join(form(medians.get(s)) for s in self.systems) + " |", flush=True)


def analytics(b: Beside):
    """Twenty million events of a million users, 90 days, 30 countries, 1,000 pages."""
    n = 20_000_000 // b.scale
    users = 1_000_000 // b.scale
    r = b.random
    user = (users * r.random(n) ** 2).astype(np.int64)
    events = pl.DataFrame(
        {
            "day": np.sort(r.integers(0, 90, n, dtype=np.int32)),
            "country": (user * 2654435761 % 2**32 * 30 // 2**32 * 7 % 30).astype(np.int32),
            "page": (1000 * r.random(n) ** 3).astype(np.int32),
            "user_id": user,
        }
    )
    path = b.work / "events.parquet"
    events.write_parquet(path)
    keys = ("day", "country", "page")

    b.sql("CREATE TABLE events (day int, country int, page int, user_id bigint)")
    load = {"rows": timed(lambda: b.copy("events", events))[0]}
    b.sql("VACUUM ANALYZE events")
    b.house("CREATE DATABASE IF NOT EXISTS b ENGINE = Atomic")
    b.house(
        "CREATE TABLE b.events (day UInt16, country UInt8, page UInt16, user_id UInt32)"
        " ENGINE = MergeTree ORDER BY (day, country, page)"
    )
    load["clickhouse"] = timed(lambda: b.house(f"INSERT INTO b.events SELECT * FROM file('{path}', Parquet)"))[0]
    load["duckdb"] = timed(lambda: b.duck.execute(f"CREATE TABLE events AS FROM '{path}'"))[0]
    load["polars"], frame = timed(lambda: pl.read_parquet(path))

    build = {"roaring64": 0.0, "clickhouses": 0.0}
    for key in keys:
        build["roaring64"] += timed(
            lambda: b.sql(
                f"CREATE TABLE by_{key} AS SELECT {key}, roaring64_agg(user_id) AS users FROM events GROUP BY 1"
            )
        )[0]
        b.sql(f"ALTER TABLE by_{key} ADD PRIMARY KEY ({key})")
        b.sql(f"VACUUM ANALYZE by_{key}")
        b.house(
            f"CREATE TABLE b.by_{key} ({key} Int32, users AggregateFunction(groupBitmap, UInt32))"
            f" ENGINE = AggregatingMergeTree ORDER BY {key} {BY_ROW}"
        )
        build["clickhouses"] += timed(
            lambda: b.house(
                f"INSERT INTO b.by_{key} SELECT {key}, groupBitmapState(user_id) FROM b.events GROUP BY {key}"
            )
        )[0]
        b.house(f"OPTIMIZE TABLE b.by_{key} FINAL")

    def mb(query):
        return float(b.house(query)[0][0]) / 1e6

    parts = "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'b' AND table "
    b.duck.execute("CHECKPOINT")
    t = Table(
        b,
        f"Load and build, {n:,} events",
        OURS + " sets",
        "ClickHouse's sets",
        "rows",
        "ClickHouse",
        "DuckDB",
        "Polars",
    )
    t.row("load, or build from rows, ms", **build, **load)
    t.row(
        "size, MB",
        roaring64=b.size("by_day", "by_country", "by_page") / 1e6,
        clickhouses=mb(parts + "LIKE 'by_%'"),
        rows=b.size("events") / 1e6,
        clickhouse=mb(parts + "= 'events'"),
        duckdb=(b.work / "duck.db").stat().st_size / 1e6,
        polars=frame.estimated_size() / 1e6,
    )

    sets = OURS + " sets"
    t = Table(b, f"Questions about {n:,} events, ms", *t.systems)
    for key in ("day", "country"):
        query = f"SELECT {key}, count(DISTINCT user_id) FROM events GROUP BY 1"
        t.ask(
            f"users by {key}",
            {
                sets: lambda: b.sql(f"SELECT {key}, roaring64_cardinality(users) FROM by_{key}"),
                "ClickHouse's sets": lambda: b.house(f"SELECT {key}, bitmapCardinality(users) FROM b.by_{key}"),
                "rows": lambda: b.sql(query),
                "ClickHouse": lambda: b.house(f"SELECT {key}, uniqExact(user_id) FROM b.events GROUP BY {key}"),
                "DuckDB": lambda: b.duck.execute(query).fetchall(),
                "Polars": lambda: frame.group_by(key).agg(pl.col("user_id").n_unique()),
            },
        )
    t.ask(
        "users of the last 28 days, for each day",
        {
            sets: lambda: b.sql(
                "SELECT day, roaring64_or_cardinality_agg(users)"
                " OVER (ORDER BY day ROWS BETWEEN 27 PRECEDING AND CURRENT ROW) FROM by_day"
            ),
            "ClickHouse's sets": lambda: b.house(
                "SELECT day, groupBitmapMerge(users)"
                " OVER (ORDER BY day ROWS BETWEEN 27 PRECEDING AND CURRENT ROW) FROM b.by_day"
            ),
        },
    )
    query = (
        "SELECT w, count(*) FROM (SELECT DISTINCT day / 7 AS w, user_id FROM {0}events) AS a"
        " WHERE user_id IN (SELECT user_id FROM {0}events WHERE day < 7) GROUP BY w"
    )
    t.ask(
        "retention: users of the first week in each week",
        {
            sets: lambda: b.sql(
                "WITH w AS (SELECT day / 7 AS w, roaring64_or_agg(users) AS users FROM by_day GROUP BY 1)"
                " SELECT a.w, roaring64_and_cardinality(a.users, f.users) FROM w AS a, w AS f WHERE f.w = 0"
            ),
            "ClickHouse's sets": lambda: b.house(
                "WITH (SELECT groupBitmapMergeState(users) FROM b.by_day WHERE day < 7) AS f"
                " SELECT w, bitmapAndCardinality(users, f) FROM (SELECT intDiv(day, 7) AS w,"
                " groupBitmapMergeState(users) AS users FROM b.by_day GROUP BY w)"
            ),
            "rows": lambda: b.sql(query.format("")),
            "ClickHouse": lambda: b.house(query.format("b.").replace("day / 7", "intDiv(day, 7)")),
            "DuckDB": lambda: b.duck.execute(query.format("").replace("day / 7", "day // 7")).fetchall(),
        },
    )
    query = (
        "SELECT count(*) FROM (SELECT user_id FROM {0}events WHERE country = 3"
        " INTERSECT SELECT user_id FROM {0}events WHERE page = 10) AS a"
    )
    t.ask(
        "users of a country who saw a page",
        {
            sets: lambda: b.sql(
                "SELECT roaring64_and_cardinality(c.users, p.users) FROM by_country AS c, by_page AS p"
                " WHERE c.country = 3 AND p.page = 10"
            ),
            "ClickHouse's sets": lambda: b.house(
                "SELECT bitmapAndCardinality((SELECT groupBitmapMergeState(users) FROM b.by_country WHERE country = 3),"
                " (SELECT groupBitmapMergeState(users) FROM b.by_page WHERE page = 10))"
            ),
            "rows": lambda: b.sql(query.format("")),
            "ClickHouse": lambda: b.house(query.format("b.").replace("INTERSECT", "INTERSECT DISTINCT")),
            "DuckDB": lambda: b.duck.execute(query.format("")).fetchall(),
        },
    )
    query = (
        "SELECT page, count(DISTINCT user_id) AS n FROM {0}events WHERE country = 3"
        " GROUP BY page ORDER BY n DESC, page LIMIT 10"
    )
    t.ask(
        "ten pages with most users of a country",
        {
            sets: lambda: b.sql(
                "SELECT page, roaring64_and_cardinality(p.users, c.users) AS n FROM by_page AS p, by_country AS c"
                " WHERE c.country = 3 ORDER BY n DESC, page LIMIT 10"
            ),
            "ClickHouse's sets": lambda: b.house(
                "WITH (SELECT groupBitmapMergeState(users) FROM b.by_country WHERE country = 3) AS c"
                " SELECT page, bitmapAndCardinality(users, c) AS n FROM b.by_page ORDER BY n DESC, page LIMIT 10"
            ),
            "rows": lambda: b.sql(query.format("")),
            "ClickHouse": lambda: b.house(query.format("b.")),
            "DuckDB": lambda: b.duck.execute(query.format("")).fetchall(),
        },
    )
    b.sql("DROP TABLE events, by_day, by_country, by_page")
    b.house("DROP DATABASE b")
    b.duck.execute("DROP TABLE events")


def actives(b: Beside):
    """Visits of a forum: a row for each user and day, and 30-day actives."""
    days, users, visits = 731, 60_000 // b.scale, 1_400_000 // b.scale
    r = b.random
    frame = (
        pl.DataFrame(
            {
                "day": r.integers(0, days, visits * 2, dtype=np.int32),
                "user_id": (users * r.random(visits * 2) ** 3).astype(np.int64),
            }
        )
        .unique()
        .sample(visits, seed=1)
        .sort("day", "user_id")
    )
    path = b.work / "visits.parquet"
    frame.write_parquet(path)
    b.sql("CREATE TABLE visits (day int, user_id bigint, PRIMARY KEY (day, user_id))")
    b.copy("visits", frame)
    b.sql("CREATE TABLE by_day AS SELECT day, roaring64_agg(user_id) AS users FROM visits GROUP BY 1")
    b.sql("ALTER TABLE by_day ADD PRIMARY KEY (day)")
    b.sql("VACUUM ANALYZE visits")
    b.sql("VACUUM ANALYZE by_day")
    b.house("CREATE DATABASE IF NOT EXISTS b ENGINE = Atomic")
    b.house("CREATE TABLE b.visits (day UInt16, user_id UInt32) ENGINE = MergeTree ORDER BY (day, user_id)")
    b.house(f"INSERT INTO b.visits SELECT * FROM file('{path}', Parquet)")
    b.house(
        "CREATE TABLE b.by_day (day Int32, users AggregateFunction(groupBitmap, UInt32))"
        f" ENGINE = AggregatingMergeTree ORDER BY day {BY_ROW}"
    )
    b.house("INSERT INTO b.by_day SELECT day, groupBitmapState(user_id) FROM b.visits GROUP BY day")
    b.house("OPTIMIZE TABLE b.by_day FINAL")
    b.duck.execute(f"CREATE TABLE visits AS FROM '{path}'")
    first = days - 365
    rows = (
        f"SELECT d, (SELECT count(DISTINCT user_id) FROM visits WHERE day BETWEEN d - 29 AND d)"
        f" FROM generate_series({first}, {days - 1}) AS g (d)"
    )
    t = Table(
        b,
        f"30-day actives at each of the last 365 days, {visits:,} visits, ms",
        OURS + " sets",
        "ClickHouse's sets",
        "rows",
        "DuckDB",
    )
    t.ask(
        "actives",
        {
            OURS + " sets": lambda: b.sql(
                "SELECT * FROM (SELECT day, roaring64_or_cardinality_agg(users)"
                " OVER (ORDER BY day ROWS BETWEEN 29 PRECEDING AND CURRENT ROW)"
                f" FROM by_day WHERE day >= {first - 29}) AS w (d, n) WHERE d >= {first}"
            ),
            "ClickHouse's sets": lambda: b.house(
                "SELECT * FROM (SELECT day, groupBitmapMerge(users)"
                " OVER (ORDER BY day ROWS BETWEEN 29 PRECEDING AND CURRENT ROW)"
                f" FROM b.by_day WHERE day >= {first - 29}) WHERE day >= {first}"
            ),
            "rows": lambda: b.sql(rows),
            "DuckDB": lambda: b.duck.execute(
                "SELECT d, count(DISTINCT user_id) FROM range(?, ?) AS g (d) JOIN visits"
                " ON day BETWEEN d - 29 AND d GROUP BY d",
                [first, days],
            ).fetchall(),
        },
    )
    b.sql("DROP TABLE visits, by_day")
    b.house("DROP DATABASE b")
    b.duck.execute("DROP TABLE visits")


def stored_pairs(b: Beside, pairs: dict):
    """Stores pairs of id arrays; returns pyroaring's.  ClickHouse, which reads the row before, has a table for each."""
    b.sql("CREATE TABLE pairs (name text PRIMARY KEY, a roaring64, b roaring64)")
    b.sql("ALTER TABLE pairs ALTER a SET STORAGE EXTERNAL, ALTER b SET STORAGE EXTERNAL")
    b.house("CREATE DATABASE IF NOT EXISTS b ENGINE = Atomic")
    memory = {}
    for i, (name, (x, y)) in enumerate(pairs.items()):
        memory[name] = (pyroaring.BitMap64(x), pyroaring.BitMap64(y))
        for bitmap in memory[name]:
            bitmap.run_optimize()
        b.sql(
            "INSERT INTO pairs VALUES (%s, %s::bytea::roaring64, %s::bytea::roaring64)",
            name,
            memory[name][0].serialize(),
            memory[name][1].serialize(),
        )
        # it has a faster way for ids below 2^32
        bits = 32 if max(np.max(x, initial=0), np.max(y, initial=0)) < 2**32 else 64
        for side, ids in (("a", x), ("b", y)):
            pq.write_table(pa.table({"id": np.asarray(ids, dtype=f"uint{bits}")}), b.work / f"{side}.parquet")
        b.house(
            f"CREATE TABLE b.pair{i} (a AggregateFunction(groupBitmap, UInt{bits}),"
            f" b AggregateFunction(groupBitmap, UInt{bits})) ENGINE = MergeTree ORDER BY tuple()"
        )
        b.house(
            f"INSERT INTO b.pair{i} SELECT a, b FROM"
            f" (SELECT groupBitmapState(assumeNotNull(id)) AS a FROM file('{b.work}/a.parquet', Parquet)) AS x,"
            f" (SELECT groupBitmapState(assumeNotNull(id)) AS b FROM file('{b.work}/b.parquet', Parquet)) AS y"
        )
    b.sql("VACUUM ANALYZE pairs")
    return memory


def ask_pairs(b: Beside, title: str, pairs: dict):
    memory = stored_pairs(b, pairs)
    t = Table(b, title, OURS, "ClickHouse", "pyroaring in memory")
    questions = (
        (
            "in common",
            "roaring64_and_cardinality(a, b)",
            "bitmapAndCardinality(a, b)",
            lambda x, y: x.intersection_cardinality(y),
        ),
        (
            "in either",
            "roaring64_or_cardinality(a, b)",
            "bitmapOrCardinality(a, b)",
            lambda x, y: x.union_cardinality(y),
        ),
        ("overlap", "(a && b)::int", "bitmapHasAny(a, b)", lambda x, y: int(x.intersect(y))),
    )
    # what a statement costs that asks nothing, in this process and through a socket
    t.ask("SELECT 1", {OURS: lambda: b.sql("SELECT 1"), "ClickHouse": lambda: b.house("SELECT 1")})
    for i, name in enumerate(pairs):
        x, y = memory[name]
        for question, ours, theirs, in_memory in questions:
            t.ask(
                f"{name}: {question}",
                {
                    OURS: lambda: b.sql(f"SELECT {ours} FROM pairs WHERE name = %s", name),
                    "ClickHouse": lambda: b.house(f"SELECT {theirs} FROM b.pair{i}"),
                    "pyroaring in memory": lambda: in_memory(x, y),
                },
            )
    b.sql("DROP TABLE pairs")
    b.house("DROP DATABASE b")


def overlap(b: Beside):
    """Five pairs of large sets."""
    s = b.scale
    high = (np.arange(64, dtype=np.int64)[:, None] << 40) + np.arange(20_000 // s, dtype=np.int64)
    m = 2_000_000 // s
    ask_pairs(
        b,
        "Two stored sets, ms",
        {
            "dense, half in common": (np.arange(m), np.arange(m // 2, m + m // 2)),
            "stride 100": (np.arange(300_000 // s) * 100, np.arange(300_000 // s) * 100 + 100 * (150_000 // s)),
            "64 high words": (high.ravel(), high.ravel() + 10_000 // s),
            "evens and odds": (np.arange(1_500_000 // s) * 2, np.arange(1_500_000 // s) * 2 + 1),
            "identical": (np.arange(m), np.arange(m)),
        },
    )


def algebra(b: Beside):
    """Pairs of four shapes and four sizes."""
    r = b.random
    pairs = {}
    for n in (1_000, 10_000, 100_000, 1_000_000):
        n = max(n // b.scale, 10)
        shapes = {
            "dense": lambda: np.flatnonzero(r.random(2 * n) < 0.5),
            "scattered": lambda: np.unique(r.integers(0, 100 * n, n)),
            "runs": lambda: np.unique((r.integers(0, 10 * n, n // 50)[:, None] + np.arange(50)).ravel()),
            "64-bit": lambda: np.unique((r.integers(0, n // 10 + 1, n) << 34) + r.integers(0, 1000, n)),
        }
        for shape, make in shapes.items():
            pairs[f"{shape}, {n:,}"] = (make().astype(np.int64), make().astype(np.int64))
    ask_pairs(b, "Set algebra of two stored sets, ms", pairs)


def permitted(b: Beside):
    """Ten million ids, of which N are permitted."""
    n = 10_000_000 // b.scale
    ids = (1 << 40) + np.arange(n, dtype=np.int64) * 100_000
    path = b.work / "ids.parquet"
    frame = pl.DataFrame({"id": ids})
    frame.write_parquet(path)
    b.sql("CREATE TABLE docs (id bigint)")
    b.copy("docs", frame)
    b.sql("ALTER TABLE docs ADD PRIMARY KEY (id)")
    b.sql("VACUUM ANALYZE docs")
    b.house("CREATE DATABASE IF NOT EXISTS b ENGINE = Atomic")
    b.house("CREATE TABLE b.docs (id UInt64) ENGINE = MergeTree ORDER BY id")
    b.house(f"INSERT INTO b.docs SELECT * FROM file('{path}', Parquet)")
    b.duck.execute(f"CREATE TABLE docs AS FROM '{path}'")
    t = Table(
        b,
        f"Count of permitted ids in {n:,} rows, ms",
        OURS,
        "= ANY (array)",
        "rows, join",
        "ClickHouse, join",
        "DuckDB, join",
    )
    for k in (10, 1_000, 10_000, 100_000, 1_000_000):
        if k > n // 2:
            continue
        some = np.sort(b.random.choice(ids, k, replace=False))
        b.sql("CREATE TABLE lists AS SELECT %s::bytea::roaring64 AS ids", pyroaring.BitMap64(some).serialize())
        b.sql("CREATE TABLE arrays AS SELECT ids::bigint[] FROM lists")
        b.sql("CREATE TABLE permitted AS SELECT unnest(ids) AS id FROM arrays")
        b.sql("ANALYZE lists, arrays, permitted")
        b.duck.execute("CREATE TABLE permitted AS SELECT unnest(?) AS id", [some.tolist()])
        b.house("CREATE TABLE b.permitted (id UInt64) ENGINE = Memory")
        pq.write_table(pa.table({"id": some.astype(np.uint64)}), b.work / "permitted.parquet")
        b.house(f"INSERT INTO b.permitted SELECT * FROM file('{b.work}/permitted.parquet', Parquet)")
        t.ask(
            f"{k:,} permitted",
            {
                OURS: lambda: b.sql("SELECT count(*) FROM docs WHERE id <@ (SELECT ids FROM lists)"),
                "= ANY (array)": lambda: b.sql(
                    "SELECT count(*) FROM docs WHERE id = ANY ((SELECT ids FROM arrays)::bigint[])"
                ),
                "rows, join": lambda: b.sql("SELECT count(*) FROM docs WHERE id IN (SELECT id FROM permitted)"),
                "ClickHouse, join": lambda: b.house(
                    "SELECT count() FROM b.docs WHERE id IN (SELECT id FROM b.permitted)"
                ),
                "DuckDB, join": lambda: b.duck.execute(
                    "SELECT count(*) FROM docs WHERE id IN (SELECT id FROM permitted)"
                ).fetchall(),
            },
        )
        b.sql("DROP TABLE lists, arrays, permitted")
        b.duck.execute("DROP TABLE permitted")
        b.house("DROP TABLE b.permitted")
    b.sql("DROP TABLE docs")
    b.house("DROP DATABASE b")
    b.duck.execute("DROP TABLE docs")


class Redis:
    """A server of our own, on a socket, that writes its log as is said."""

    def __init__(self, b: Beside, fsync: str):
        self.path = b.work / f"redis-{fsync}"
        self.path.mkdir()
        self.socket = str(self.path / "socket")
        self.process = subprocess.Popen(
            [
                "redis-server",
                "--port",
                "0",
                "--unixsocket",
                self.socket,
                "--dir",
                str(self.path),
                "--save",
                "",
                "--appendonly",
                "yes",
                "--appendfsync",
                fsync,
            ],
            stdout=subprocess.DEVNULL,
        )
        self.client = redis.Redis(unix_socket_path=self.socket)
        for _ in range(100):
            try:
                self.client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.1)

    def rate(self, pipeline: int, requests: int, numbers: int, *command):
        """Requests a second of redis-benchmark, with random numbers below that."""
        out = subprocess.run(
            [
                "redis-benchmark",
                "-s",
                self.socket,
                "-c",
                "4",
                "-P",
                str(pipeline),
                "-n",
                str(requests),
                "-r",
                str(numbers),
                "--csv",
                *command,
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        return float(list(csv.reader(io.StringIO(out)))[-1][1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.path)


def pgbench(b: Beside, transactions: int, script: str, settings: str = ""):
    """Transactions a second of four clients of pgbench."""
    path = b.work / "script.sql"
    path.write_text(script)
    out = subprocess.run(
        ["pgbench", "-n", "-M", "prepared", "-c", "4", "-j", "2", "-t", str(transactions // 4), "-f", str(path)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PGOPTIONS": settings},
    ).stdout
    return float(next(line for line in out.splitlines() if line.startswith("tps")).split()[2])


def rates(t: Table, name: str, ways: dict):
    """Rates in turn: all rounds, the median of each."""
    found = {system: [] for system in ways}
    for _ in range(min(t.beside.rounds, 3)):
        for system, measure in ways.items():
            found[system].append(measure())
    print(
        f"| {name} | " + " | ".join(form(statistics.median(found[s])) if s in found else "-" for s in t.systems) + " |",
        flush=True,
    )


def claims(b: Beside):
    """Claims of ids from a sequence and of random UUIDs, and states of messages."""
    n = 60_000 // b.scale + 64
    b.sql("SELECT roaring64_dedup_create('processed')")
    b.sql("SELECT roaring64_dedup_create('processed_uuids', id_type => 'uuid')")
    b.sql("CREATE TABLE seen (key text, id bigint, PRIMARY KEY (key, id))")
    b.sql("CREATE TABLE seen_uuids (key text, id uuid, PRIMARY KEY (key, id))")
    b.sql("CREATE SEQUENCE ids CACHE 100")
    next_ids = "SELECT nextval('ids') FROM generate_series(1, {})"

    def each(script, settings=""):
        return lambda: pgbench(b, n, script, settings)

    def batches(script, size):
        return lambda: size * pgbench(b, max(n * min(size, 32) // size, 4), script)

    def redis_rate(server, pipeline, numbers, *command):
        # more where it does not sync each, so that it has to sync meanwhile
        requests = n * min(pipeline, 32)
        if server is everysec:
            requests *= 4 if pipeline == 1 else 2
        return lambda: server.rate(pipeline, requests, numbers, *command)

    with Redis(b, "always") as always, Redis(b, "everysec") as everysec:
        t = Table(
            b,
            "New ids claimed a second, 4 clients",
            OURS,
            OURS + ", synchronous_commit off",
            "unique table",
            "Redis SADD, always",
            "Redis SADD, everysec",
        )
        claim = "SELECT roaring64_dedup_claim('processed', 'k', nextval('ids'));\n"
        insert = "INSERT INTO seen VALUES ('k', nextval('ids')) ON CONFLICT DO NOTHING;\n"
        sadd = (10**9, "SADD", "seen", "__rand_int__")
        rates(
            t,
            "one a transaction",
            {
                OURS: each(claim),
                OURS + ", synchronous_commit off": each(claim, "-c synchronous_commit=off"),
                "unique table": each(insert),
                "Redis SADD, always": redis_rate(always, 1, *sadd),
                "Redis SADD, everysec": redis_rate(everysec, 1, *sadd),
            },
        )
        uuid = "gen_random_uuid()"
        rates(
            t,
            "one UUID a transaction",
            {
                OURS: each(f"SELECT roaring64_dedup_claim('processed_uuids', 'k', {uuid});\n"),
                "unique table": each(f"INSERT INTO seen_uuids VALUES ('k', {uuid}) ON CONFLICT DO NOTHING;\n"),
            },
        )
        for size in (16, 1000):
            many = next_ids.format(size)
            rates(
                t,
                f"{size:,} at once",
                {
                    OURS: batches(f"SELECT roaring64_dedup_claim_many('processed', 'k', ARRAY({many}));\n", size),
                    "unique table": batches(
                        many.replace("SELECT", "INSERT INTO seen SELECT 'k',") + " ON CONFLICT DO NOTHING;\n", size
                    ),
                    "Redis SADD, always": redis_rate(always, size, *sadd),
                    "Redis SADD, everysec": redis_rate(everysec, size, *sadd),
                },
            )

        b.sql("CALL roaring64_dedup_fold('processed')")
        t.row(
            "bytes an id, folded",
            roaring64=b.size("processed_chunks")
            / b.sql("SELECT roaring64_dedup_count('processed', 'k')")[0][0],
            unique=b.size("seen") / b.sql("SELECT count(*) FROM seen")[0][0],
            redis=everysec.client.memory_usage("seen", 1000) / everysec.client.scard("seen"),
        )

        b.sql(
            "CREATE TABLE state (user_id int PRIMARY KEY, read roaring64 NOT NULL DEFAULT '{}') WITH (fillfactor = 70)"
        )
        b.sql("CREATE TABLE state_rows (user_id int, message_id bigint, PRIMARY KEY (user_id, message_id))")
        b.sql(
            "INSERT INTO state_rows SELECT DISTINCT u, (random() * 100000)::int"
            " FROM generate_series(1, 10000) AS u, generate_series(1, %s)",
            max(500 // b.scale, 1),
        )
        b.sql("INSERT INTO state SELECT user_id, roaring64_agg(message_id) FROM state_rows GROUP BY 1")
        b.sql("VACUUM ANALYZE state")
        b.sql("VACUUM ANALYZE state_rows")
        for server in (always, everysec):
            with server.client.pipeline(transaction=False) as pipeline:
                for u in range(10_000):
                    pipeline.setrange(f"read:{u}", 12_499, b"\0")
                pipeline.execute()
        user = "\\set user_id random(1, 10000)\n\\set id random(1, 100000)\n"
        t = Table(
            b,
            "Messages marked as read a second, 10,000 users who have read 500 each, 4 clients",
            OURS,
            "rows",
            "Redis SETBIT in a script, always",
            "Redis SETBIT in a script, everysec",
        )
        # by a script: redis-benchmark's random numbers have leading zeros, which offsets must not
        setbit = (
            100_000,
            "EVAL",
            "return redis.call('SETBIT', 'read:' .. ARGV[1] % 10000, tonumber(ARGV[2]), 1)",
            "0",
            "__rand_int__",
            "__rand_int__",
        )
        rates(
            t,
            "one a transaction",
            {
                OURS: each(user + "UPDATE state SET read = read | :id::bigint WHERE user_id = :user_id;\n"),
                "rows": each(user + "INSERT INTO state_rows VALUES (:user_id, :id) ON CONFLICT DO NOTHING;\n"),
                "Redis SETBIT in a script, always": redis_rate(always, 1, *setbit),
                "Redis SETBIT in a script, everysec": redis_rate(everysec, 1, *setbit),
            },
        )
    b.sql("SELECT roaring64_dedup_drop('processed'), roaring64_dedup_drop('processed_uuids')")
    b.sql("DROP TABLE seen, seen_uuids, state, state_rows")
    b.sql("DROP SEQUENCE ids")


def delayed(b: Beside):
    """A million messages added in batches of 1,000, then taken when due, 1,000 at a time."""
    n = 1_000_000 // b.scale
    r = b.random
    due = (1_800_000_000 + np.arange(n) // 1000 + r.integers(0, 600, n)).astype(np.int64)
    batches = [(list(range(i, min(i + 1000, n))), [int(d) for d in due[i : i + 1000]]) for i in range(0, n, 1000)]
    b.sql("SELECT roaring64_delay_create('delayed')")
    b.sql("CREATE TABLE queue (id bigint, due timestamptz)")
    b.sql("CREATE INDEX ON queue (due)")
    t = Table(
        b,
        f"{n:,} delayed messages a second, one client, batches of 1,000",
        OURS,
        "queue table",
        "Redis ZADD, always",
        "Redis ZADD, everysec",
    )

    def add_ours():
        for ids, times in batches:
            b.sql(
                "SELECT roaring64_delay_add_many('delayed', ARRAY(SELECT id >> 12 FROM unnest(%s::bigint[]) AS id),"
                " %s::bigint[], ARRAY(SELECT to_timestamp(d) FROM unnest(%s::bigint[]) AS d))",
                ids,
                ids,
                times,
            )

    def add_rows():
        for ids, times in batches:
            b.sql(
                "INSERT INTO queue SELECT id, to_timestamp(d) FROM unnest(%s::bigint[], %s::bigint[]) AS a (id, d)",
                ids,
                times,
            )

    def add_redis(server):
        for ids, times in batches:
            server.client.zadd("queue", dict(zip(ids, times)))

    def take_until_none(take):
        taken = 0
        while True:
            some = take()
            if some == 0:
                return taken
            taken += some

    def take_ours():
        return take_until_none(lambda: len(b.sql("SELECT * FROM roaring64_delay_take('delayed', 'infinity', 1000)")))

    def take_rows():
        return take_until_none(
            lambda: len(
                b.sql(
                    "DELETE FROM queue WHERE ctid = ANY (ARRAY(SELECT ctid FROM queue WHERE due < 'infinity'"
                    " ORDER BY due LIMIT 1000 FOR UPDATE SKIP LOCKED)) RETURNING id"
                )
            )
        )

    def take_redis(server):
        pop = server.client.register_script(
            "local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1000)"
            " if #ids > 0 then redis.call('ZREM', KEYS[1], unpack(ids)) end return ids"
        )
        return take_until_none(lambda: len(pop(keys=["queue"], args=["+inf"])))

    with Redis(b, "always") as always, Redis(b, "everysec") as everysec:
        added, sizes, taken = {}, {}, {}
        for system, add, size, take in (
            (OURS, add_ours, lambda: b.size("delayed"), take_ours),
            ("queue table", add_rows, lambda: b.size("queue"), take_rows),
            (
                "Redis ZADD, always",
                lambda: add_redis(always),
                lambda: always.client.memory_usage("queue", 0),
                lambda: take_redis(always),
            ),
            (
                "Redis ZADD, everysec",
                lambda: add_redis(everysec),
                lambda: everysec.client.memory_usage("queue", 0),
                lambda: take_redis(everysec),
            ),
        ):
            added[system] = n / timed(add)[0] * 1000
            sizes[system] = size() / n
            ms, count = timed(take)
            taken[system] = n / ms * 1000
            if count != n:
                b.differ += 1
                print(f"delayed: {system} gave {count} of {n}", file=sys.stderr)
        for name, figures in (("added", added), ("bytes a message, before any is taken", sizes), ("taken", taken)):
            print(f"| {name} | " + " | ".join(form(figures[s]) for s in t.systems) + " |", flush=True)
    b.sql("DROP TABLE delayed, queue")


def facets(b: Beside):
    """Ten million documents with three fields: counts by value within a filter."""
    n = 10_000_000 // b.scale
    r = b.random
    docs = pl.DataFrame(
        {
            "id": np.arange(n, dtype=np.int64),
            "kind": (20 * r.random(n) ** 2).astype(np.int64),
            "brand": (1000 * r.random(n) ** 2).astype(np.int64),
            "year": r.integers(2000, 2027, n),
        }
    )
    path = b.work / "docs.parquet"
    docs.write_parquet(path)
    b.duck.execute(f"CREATE TABLE docs AS FROM '{path}'")
    b.sql("CREATE TABLE docs (id bigint, kind int, brand int, year int)")
    b.copy("docs", docs)
    for field in ("kind", "brand", "year"):
        b.sql(f"CREATE TABLE by_{field} AS SELECT {field}, roaring64_agg(id) AS ids FROM docs GROUP BY 1")
        b.sql(f"ALTER TABLE by_{field} ADD PRIMARY KEY ({field})")
        b.sql(f"VACUUM ANALYZE by_{field}")
    b.sql("VACUUM ANALYZE docs")
    schema = tantivy.SchemaBuilder()
    for field in ("kind", "brand", "year"):
        schema.add_integer_field(field, stored=False, indexed=True, fast=True)
    (b.work / "tantivy").mkdir()
    index = tantivy.Index(schema.build(), path=str(b.work / "tantivy"))
    writer = index.writer(500_000_000, 1)
    for kind, brand, year in docs.select("kind", "brand", "year").iter_rows():
        writer.add_document(tantivy.Document(kind=kind, brand=brand, year=year))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def tantivy_counts(query, field):
        found = searcher.aggregate(
            index.parse_query(query),
            {"a": {"terms": {"field": field, "size": 10, "segment_size": 2000, "order": {"_count": "desc"}}}},
        )
        return [(int(x["key"]), x["doc_count"]) for x in found["a"]["buckets"]]

    t = Table(b, f"Ten most frequent values within a filter, {n:,} documents, ms", OURS, "rows", "DuckDB", "tantivy")
    for name, ours, where, query in (
        (
            "brands within a kind and a year",
            "(SELECT k.ids & y.ids FROM by_kind AS k, by_year AS y WHERE kind = 3 AND year = 2020)",
            "kind = 3 AND year = 2020",
            "+kind:3 +year:2020",
        ),
        ("brands within a kind", "(SELECT ids FROM by_kind WHERE kind = 0)", "kind = 0", "+kind:0"),
    ):
        sql = f"SELECT brand, count(*) AS n FROM docs WHERE {where} GROUP BY 1 ORDER BY n DESC, brand LIMIT 10"
        t.ask(
            name,
            {
                system: lambda rows=rows: [n for _, n in rows()]  # of those with the last count, any
                for system, rows in {
                    OURS: lambda: b.sql(
                        f"SELECT key->>'brand', count FROM roaring64_facets('by_brand', 'ids', {ours})"
                    ),
                    "rows": lambda: b.sql(sql),
                    "DuckDB": lambda: b.duck.execute(sql).fetchall(),
                    "tantivy": lambda: tantivy_counts(query, "brand"),
                }.items()
            },
        )
    b.sql("DROP TABLE docs, by_kind, by_brand, by_year")
    b.duck.execute("DROP TABLE docs")


SECTIONS = (analytics, actives, overlap, permitted, claims, delayed, facets, algebra)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("sections", nargs="*", metavar="section")
    options = parser.parse_args()
    names = {section.__name__: section for section in SECTIONS}
    unknown = set(options.sections) - set(names)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}")
    b = Beside(options.work, options.quick, options.rounds)
    version = b.sql("SHOW server_version")[0][0]
    redis_version = subprocess.run(["redis-server", "--version"], check=True, capture_output=True, text=True).stdout
    print(
        f"PostgreSQL {version}, ClickHouse {b.house('SELECT version()')[0][0]} (chdb {chdb.__version__}),"
        f" DuckDB {duckdb.__version__}, Polars {pl.__version__}, Redis {redis_version.split('v=')[1].split()[0]},"
        f" {tantivy.__version__.split(',')[0]}, pyroaring {pyroaring.__version__}; Python {platform.python_version()}."
    )
    for name in options.sections or names:
        names[name](b)
    print(f"\n{b.differ} answers differ.")
    return 1 if b.differ else 0


if __name__ == "__main__":
    sys.exit(main())
