"""What the drivers ask a database: for the type, and for a claim."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, contextmanager
from numbers import Integral
from typing import Any, Union
from uuid import UUID

from roaring64._values import shown

Id = Union[int, UUID, str]
Claim = AbstractContextManager[bool]
AsyncClaim = AsyncIterator[bool]

CLAIM = (
    "SELECT {}.roaring64_dedup_claim(CAST(CAST({} AS text) AS regclass), CAST({} AS text), "
    "CAST({} AS {}))"
)

# The type is where the extension is, whatever the search path.
FIND_TYPE = """
SELECT t.oid::bigint, t.typarray::bigint, n.nspname::text, quote_ident(n.nspname)
FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
JOIN pg_catalog.pg_type t ON t.typnamespace = n.oid AND t.typname = 'roaring64'
WHERE e.extname = 'roaring64'"""


def found_type(row: Any) -> tuple[int, int, str, str]:
    """Return the row of FIND_TYPE; raises LookupError if there was none."""
    if row is None:
        raise LookupError("this database has no extension roaring64: CREATE EXTENSION roaring64")
    return tuple(row)


def claim_sql(row: Any, id: Id, marks: str = "%s %s %s") -> tuple[str, int | str]:
    """Return the statement that claims an id, and the id as its parameter.

    ``row`` is that of FIND_TYPE; ``marks`` are the placeholders of the set, the key and the id.
    """
    schema = found_type(row)[3]
    for kind, type in ((Integral, "bigint"), (UUID, "uuid"), (str, "text")):
        if isinstance(id, kind) and not isinstance(id, bool):
            sent = int(id) if isinstance(id, Integral) else str(id)
            return CLAIM.format(schema, *marks.split(), type), sent
    raise TypeError(f"{shown(id)} is no id to claim: an id is an int, a UUID or a str")


@contextmanager
def claim_with(block: Any, cursor: Any, set: str, key: str, id: Id) -> Iterator[bool]:
    """Claim an id in a block that is a transaction, with a cursor of the DB API."""
    with block, cursor:
        cursor.execute(FIND_TYPE)
        statement, sent = claim_sql(cursor.fetchone(), id)
        cursor.execute(statement, [set, key, sent])
        yield cursor.fetchone()[0]
