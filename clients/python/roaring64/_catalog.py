"""Where a database has the type, and whether its extension is new enough."""

from __future__ import annotations

import re
from typing import Any

NEEDED = [1, 0]

# The type is where the extension is, whatever the search path.
FIND_TYPE = """
SELECT t.oid::bigint, t.typarray::bigint, n.nspname::text, quote_ident(n.nspname), e.extversion
FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
JOIN pg_catalog.pg_type t ON t.typnamespace = n.oid AND t.typname = 'roaring64'
WHERE e.extname = 'roaring64'"""


def found_type(row: Any) -> tuple[int, int, str, str]:
    """Return OID, array's OID, schema, and schema quoted, of a row of FIND_TYPE.

    Raises LookupError if there was none, or the extension is too old.
    """
    if row is None:
        raise LookupError("this database has no extension roaring64: CREATE EXTENSION roaring64")
    oid, array, schema, quoted, version = row
    if [int(number) for number in re.findall(r"\d+", version)] < NEEDED:
        raise LookupError(
            f"this package needs roaring64 1.0 or newer, and this database has {version}: "
            "ALTER EXTENSION roaring64 UPDATE"
        )
    return oid, array, schema, quoted
