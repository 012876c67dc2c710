"""
example.py
	roaring64 with Python: Django, psycopg 3 and pyroaring.

Connects as libpq would (PGHOST, PGDATABASE and so on) and wants
CREATE EXTENSION roaring64 to have been done.

A BitMap64 is unsigned where SQL is signed: -1 there is 2**64 - 1 here.
"""
import os

import django
from django.conf import settings
from django.db import connection, models
from pyroaring import BitMap64

settings.configure(
    INSTALLED_APPS=["__main__"],
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": os.environ["PGDATABASE"], "USER": os.environ["PGUSER"],
        "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"]}})


class Roaring64Field(models.Field):
    """A column that is a BitMap64."""

    def db_type(self, connection):
        return "roaring64"

    def get_prep_value(self, value):
        return value if value is None else value.serialize()

    def get_placeholder(self, value, compiler, connection):
        return "%s::bytea::roaring64"

    def select_format(self, compiler, sql, params):
        return f"{sql}::bytea", params

    def from_db_value(self, value, expression, connection):
        return value if value is None else BitMap64.deserialize(bytes(value))


@Roaring64Field.register_lookup
class Has(models.Lookup):
    """filter(read__has=10): the operator @> with an id."""

    lookup_name = "has"
    prepare_rhs = False

    def as_sql(self, compiler, connection):
        column, params = self.process_lhs(compiler, connection)
        return f"{column} @> %s::bigint", [*params, self.rhs]


django.setup()


class Reader(models.Model):
    read = Roaring64Field()

    class Meta:
        app_label = "__main__"
        db_table = "readers"


with connection.schema_editor() as editor:
    editor.execute("CREATE TEMP TABLE readers (id bigserial PRIMARY KEY, read roaring64 NOT NULL)")

with connection.cursor() as cursor:
    # As text: what psql shows.
    cursor.execute("INSERT INTO readers VALUES (1, %s)", ["{1,2,3}"])
    cursor.execute("SELECT read::text FROM readers WHERE id = 1")
    assert cursor.fetchone() == ("{1,2,3}",)
    print("ok - text")

    # An array parameter, and an element.
    cursor.execute("INSERT INTO readers VALUES (2, %s::bigint[])", [[10, 2, 10, -1]])
    cursor.execute("SELECT read::bigint[] FROM readers WHERE id = 2")
    assert cursor.fetchone() == ([-1, 2, 10],)
    assert [reader.id for reader in Reader.objects.filter(read__has=10)] == [2]
    print("ok - array")

    # As bytes: the portable format, which other programs read and write too.
    cursor.execute("SELECT read::bytea FROM readers WHERE id = 2")
    data, = cursor.fetchone()
    cursor.execute("INSERT INTO readers VALUES (3, %s::bytea::roaring64)", [bytes(data)])
    assert Reader.objects.get(id=3).read == BitMap64([2, 10, 2**64 - 1])
    print("ok - bytes")

# As BitMap64.
million = BitMap64(range(0, 2_000_000, 2))
Reader.objects.create(id=4, read=million)
assert Reader.objects.get(id=4).read == million
Reader.objects.filter(id=1).update(read=BitMap64([7]))
assert Reader.objects.get(id=1).read == BitMap64([7])
print("ok - own type")
