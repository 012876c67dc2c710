"""A server for the tests: the one of PGHOST and so on, or a private one of this tree."""

import asyncio
import os
import pathlib
import subprocess
import uuid

import psycopg
import pytest
from hypothesis import HealthCheck, settings

# The machine may be busy.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

TREE = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def server():
    """Sets PGHOST and so on, which all drivers understand."""
    if "PGHOST" in os.environ:
        yield
        return
    program = TREE / "tools" / "private-server"
    if not program.exists():
        pytest.exit(f"set PGHOST and so on, as there is no {program}", returncode=2)
    with subprocess.Popen(
        [program, "bash", "-c", 'echo "$PGHOST $PGPORT"; exec cat >/dev/null'],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        words = process.stdout.readline().split()
        if not words:
            pytest.exit(f"{program} gave no server", returncode=2)
        os.environ.update(PGHOST=words[0], PGPORT=words[1], PGUSER="postgres")
        yield
        process.stdin.close()


@pytest.fixture(scope="session")
def database(server):
    """A database of its own, which PGDATABASE names, with the extension in a schema of its own.

    The schema is on the search path, which the operators need, but in a
    database ``plain`` it is not.
    """
    name = f"roaring64_python_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        connection.execute(f'ALTER DATABASE {name} SET search_path = public, "my types"')
        os.environ["PGDATABASE"] = name
        with psycopg.connect(autocommit=True) as own:
            own.execute('CREATE SCHEMA "my types"')
            own.execute('CREATE EXTENSION roaring64 SCHEMA "my types"')
        yield name
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def connection(database):
    """A connection that reads and writes what the tests compare with, unregistered."""
    with psycopg.connect(autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def connection_for_module(database):
    """The same for what a module's tests share."""
    with psycopg.connect(autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def run():
    """Runs a coroutine; connections of one test share the loop."""
    loop = asyncio.new_event_loop()
    yield loop.run_until_complete
    loop.close()


@pytest.fixture
def table(connection):
    """The name of a table with an id and a set."""
    name = f"t_{uuid.uuid4().hex[:8]}"
    connection.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, read roaring64)")
    yield name
    connection.execute(f"DROP TABLE {name}")


@pytest.fixture
def processed(connection):
    """The name of a dedup set."""
    name = f"d_{uuid.uuid4().hex[:8]}"
    connection.execute("SELECT roaring64_dedup_create(%s)", [name])
    yield name
    connection.execute("SELECT roaring64_dedup_drop(%s)", [name])
