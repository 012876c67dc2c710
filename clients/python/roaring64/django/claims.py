"""Claims of dedup sets."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.db import transaction

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def claim(connection: Any, set: str, key: str, id: int) -> Iterator[bool | None]:  # noqa: ANN401
    """Claim an id of a dedup set; what the block does commits or rolls back with it.

    The connection is ``django.db.connection``, or one of ``connections``.  Gives
    True if the id is new, False if it is a duplicate, and None if it is too old
    to tell.
    """
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(
            "SELECT roaring64_dedup_claim(%s::regclass, %s::text, %s::bigint)", [set, key, id]
        )
        yield cursor.fetchone()[0]
