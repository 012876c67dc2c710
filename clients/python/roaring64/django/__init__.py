"""roaring64 for Django 4.2 and newer, with psycopg or psycopg2.

class Inbox(models.Model):
    read = Roaring64Field(default=())

Inbox.objects.filter(id=1).update(read=Add("read", 5))
Inbox.objects.filter(read__contains=5)
"""

from roaring64.django.claims import claim
from roaring64.django.fields import Roaring64Field
from roaring64.django.functions import (
    Add,
    Agg,
    AndAgg,
    Cardinality,
    Intersect,
    OrAgg,
    Remove,
)
from roaring64.django.operations import Roaring64Extension

__all__ = [
    "Add",
    "Agg",
    "AndAgg",
    "Cardinality",
    "Intersect",
    "OrAgg",
    "Remove",
    "Roaring64Extension",
    "Roaring64Field",
    "claim",
]
