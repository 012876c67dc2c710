"""How the drivers find the type, and a claim, in a database."""

from __future__ import annotations

from typing import NamedTuple

# The type belongs to the extension, whatever the schema and the search path.
FIND_TYPE = """
SELECT t.oid::bigint, t.typarray::bigint, n.nspname::text, quote_ident(n.nspname) || '.roaring64'
FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_extension'::regclass
    AND d.refobjid = e.oid AND d.classid = 'pg_catalog.pg_type'::regclass AND d.deptype = 'e'
JOIN pg_catalog.pg_type t ON t.oid = d.objid AND t.typname = 'roaring64'
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE e.extname = 'roaring64'"""


class TypeName(NamedTuple):
    """The type roaring64 of a database."""

    oid: int
    array_oid: int
    schema: str
    qualified: str


def found_type(row: tuple[int, int, str, str] | None) -> TypeName:
    """Return the row of FIND_TYPE; raises LookupError if there was none."""
    if row is None:
        raise LookupError(
            "the extension roaring64 does not exist in this database: CREATE EXTENSION roaring64"
        )
    return TypeName(*row)
