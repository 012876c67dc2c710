"""What the drivers ask a database: for the type, and for a claim."""

from __future__ import annotations

from typing import Any, NamedTuple

# The type is where the extension is, whatever the search path.
FIND_TYPE = """
SELECT t.oid::bigint, t.typarray::bigint, n.nspname::text, quote_ident(n.nspname) || '.roaring64'
FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
JOIN pg_catalog.pg_type t ON t.typnamespace = n.oid AND t.typname = 'roaring64'
WHERE e.extname = 'roaring64'"""

CLAIM = "SELECT roaring64_dedup_claim(%s::regclass, %s::text, %s::bigint)"


class TypeName(NamedTuple):
    """The type roaring64 of a database."""

    oid: int
    array_oid: int
    schema: str
    qualified: str


def found_type(row: Any) -> TypeName:
    """Return the row of FIND_TYPE; raises LookupError if there was none."""
    if row is None:
        raise LookupError(
            "the extension roaring64 does not exist in this database: CREATE EXTENSION roaring64"
        )
    return TypeName(*row)
