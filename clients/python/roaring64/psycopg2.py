"""roaring64 for psycopg2, whose parameters and results are text.

connection = psycopg2.connect("")
roaring64.psycopg2.register(connection)
"""

from __future__ import annotations

from psycopg2 import extensions
from pyroaring import BitMap64, FrozenBitMap64

from roaring64._catalog import FIND_TYPE, found_type
from roaring64._values import load, to_text


def register(connection: extensions.connection) -> None:
    """Let the connection read roaring64 as Bitmap, and all connections write bitmaps.

    Make a bitmap() of other sets of ids.  A bitmap is a literal without a type, which
    PostgreSQL takes for a roaring64 where one belongs.  Raises LookupError if the
    database has no extension roaring64, or an old one.
    """
    idle = connection.info.transaction_status == extensions.TRANSACTION_STATUS_IDLE
    with connection.cursor(cursor_factory=extensions.cursor) as cursor:
        cursor.execute(FIND_TYPE)
        row = cursor.fetchone()
    if idle and not connection.autocommit:
        connection.rollback()
    oid, array_oid, _, _ = found_type(row)
    scalar = extensions.new_type((oid,), "ROARING64", lambda text, _cursor: load(text))
    array = extensions.new_array_type((array_oid,), "ROARING64[]", scalar)
    extensions.register_type(scalar, connection)
    extensions.register_type(array, connection)
    for kind in (BitMap64, FrozenBitMap64):
        extensions.register_adapter(kind, lambda value: extensions.QuotedString(to_text(value)))
