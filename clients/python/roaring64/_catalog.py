"""What the drivers ask a database: for the type, and for a claim."""

from __future__ import annotations

from typing import Any

# The type is where the extension is, whatever the search path.
FIND_TYPE = """
SELECT t.oid::bigint, t.typarray::bigint, n.nspname::text, quote_ident(n.nspname) || '.roaring64'
FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
JOIN pg_catalog.pg_type t ON t.typnamespace = n.oid AND t.typname = 'roaring64'
WHERE e.extname = 'roaring64'"""

# The id has no cast, which would round a float.
CLAIM = "SELECT roaring64_dedup_claim(CAST(CAST({} AS text) AS regclass), CAST({} AS text), {})"


def found_type(row: Any) -> tuple[int, int, str, str]:
    """Return the row of FIND_TYPE; raises LookupError if there was none."""
    if row is None:
        raise LookupError(
            "the extension roaring64 does not exist in this database: CREATE EXTENSION roaring64"
        )
    return tuple(row)
