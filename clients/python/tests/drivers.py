"""One face for all drivers, so that a test can be run with each of them.

A statement has {} for a parameter.  A driver's run() gives rows as tuples.
"""

import asyncpg
import psycopg
import psycopg2

import roaring64.asyncpg
import roaring64.psycopg
import roaring64.psycopg2


class Psycopg:
    def __init__(self, run, binary):
        self.binary = binary
        self.connection = psycopg.connect(autocommit=True)

    def register(self):
        roaring64.psycopg.register(self.connection)

    def run(self, statement, *parameters):
        placeholder = "%b" if self.binary else "%t"
        cursor = self.connection.execute(
            statement.format(*[placeholder] * len(parameters)), parameters, binary=self.binary
        )
        return cursor.fetchall() if cursor.description else None

    def close(self):
        self.connection.close()


class PsycopgAsync:
    def __init__(self, run, binary):
        self.binary = binary
        self.loop = run
        self.connection = run(psycopg.AsyncConnection.connect(autocommit=True))

    def register(self):
        self.loop(roaring64.psycopg.register_async(self.connection))

    def run(self, statement, *parameters):
        async def run():
            cursor = await self.connection.execute(
                statement.format(*["%s"] * len(parameters)), parameters, binary=self.binary
            )
            return await cursor.fetchall() if cursor.description else None

        return self.loop(run())

    def close(self):
        self.loop(self.connection.close())


class Psycopg2:
    def __init__(self, run, binary):
        self.connection = psycopg2.connect("")
        self.connection.autocommit = True

    def register(self):
        roaring64.psycopg2.register(self.connection)

    def run(self, statement, *parameters):
        with self.connection.cursor() as cursor:
            cursor.execute(statement.format(*["%s"] * len(parameters)), parameters)
            return cursor.fetchall() if cursor.description else None

    def close(self):
        self.connection.close()


class Asyncpg:
    def __init__(self, run, binary):
        self.loop = run
        self.connection = run(asyncpg.connect())

    def register(self):
        self.loop(roaring64.asyncpg.register(self.connection))

    def run(self, statement, *parameters):
        numbers = [f"${i + 1}" for i in range(len(parameters))]
        rows = self.loop(self.connection.fetch(statement.format(*numbers), *parameters))
        return [tuple(row) for row in rows]

    def close(self):
        self.loop(self.connection.close())


DRIVERS = {
    "psycopg-text": (Psycopg, False),
    "psycopg-binary": (Psycopg, True),
    "psycopg-async-text": (PsycopgAsync, False),
    "psycopg-async-binary": (PsycopgAsync, True),
    "psycopg2": (Psycopg2, False),
    "asyncpg": (Asyncpg, True),
}
