"""The field of Django beside an ArrayField that is told the same: what is in the rows afterwards.

A script is a way to get an object and some steps.  It is run on a model with a set and on the same
model with an array, in two databases and two schemas of each, and rows, exceptions and the object's
value must agree.  A set remembers nothing that an array does not.
"""

import copy
import itertools
import os
import pickle
import random

import pytest
from asgiref.sync import async_to_sync

from test_django import WAY  # first, as it decides which driver Django takes

from django.contrib.postgres.fields import ArrayField
from django.db import DEFAULT_DB_ALIAS as HERE
from django.db import connections, models, transaction

from roaring64.django import Add, Remove, Roaring64Field

THERE = "elsewhere"
# One script of so many is run; fewer with other ways to connect.
EVERY = (32 if WAY == "psycopg" else 320) / float(os.environ.get("ROARING64_TEST_EFFORT", "1"))
SEED = os.environ.get("ROARING64_TEST_SEED", "1")


def make_models(prefix, field):
    """A model, one that inherits its table, and a proxy."""

    def make(name, base, fields=(), **options):
        meta = type("Meta", (), {"app_label": "inboxes", **options})
        made = type(prefix + name, (base,), {"Meta": meta, "__module__": __name__, **dict(fields)})
        globals()[made.__name__] = made  # for pickle
        return made

    fields = {"name": models.TextField(), "read": field(null=True)}
    row = make("Row", make("Abstract", models.Model, fields, abstract=True))
    child = make("Child", row, {"more": models.TextField(default="")})
    return {"row": row, "child": child, "proxy": make("Proxy", row, proxy=True)}


def array_field(**options):
    return ArrayField(models.BigIntegerField(), **options)


class ArrayAdd(models.Func):
    """What Add is, for an array."""

    template = "(SELECT array_agg(DISTINCT e ORDER BY e) FROM unnest(array_append(%(expressions)s)) e)"
    output_field = array_field()


class ArrayRemove(models.Func):
    function = "array_remove"
    output_field = array_field()


SETS, PLAIN = make_models("Set", Roaring64Field), make_models("Plain", array_field)


class World:
    """An object of one of the models, and what a script has done with it."""

    def __init__(self, models, kind):
        self.model, self.row = models[kind], models["row"]
        self.is_plain = models is PLAIN
        self.errors = []
        # Others' values are not those of the scripts.
        self.model.objects.create(id=2, name="second", read=self.value(20))

    def value(self, *ids):
        return list(ids) if self.is_plain else set(ids)

    def expression(self, add, id):
        if self.is_plain:
            return (ArrayAdd if add else ArrayRemove)(models.F("read"), models.Value(id, models.BigIntegerField()))
        return (Add if add else Remove)("read", id)

    def get(self, queryset=None):
        self.o = (self.model.objects if queryset is None else queryset).get(id=1)

    def assign(self, value):
        self.o.read = value

    def save(self, **options):
        self.o.save(**options)


def start_constructed(world):
    world.o = world.model(id=1, name="constructed", read=world.value(1, 3))


def start_new(world):
    world.o = world.model(name="new", read=world.value(1, 4))


def start_created(world):
    world.o = world.model.objects.create(name="created", read=world.value(1, 4))


def start_default(world):
    """NULL, as nothing was said."""
    world.o = world.model(id=1, name="default")


STARTS = {
    "get": World.get,
    "defer": lambda w: w.get(w.model.objects.defer("read")),
    "only": lambda w: w.get(w.model.objects.only("name")),
    "raw": lambda w: w.get(w.model.objects.filter(name="first")),
    "in a block": lambda w: in_a_block(w, World.get),
    "constructed": start_constructed,
    "new": start_new,
    "created": start_created,
    "default": start_default,
}


def in_a_block(world, *steps):
    """The steps in a transaction that is rolled back."""
    with transaction.atomic():
        for step in steps:
            step(world)
        transaction.set_rollback(True)


def append(world):
    before = world.o.read
    if hasattr(before, "resolve_expression"):
        return
    ids = sorted({*(before or ()), 9})
    world.assign(ids if world.is_plain else before | {9} if before else {9})


def committed(world):
    with transaction.atomic():
        world.save()


def savepoint(world):
    """The inner block is rolled back, the outer one is not."""
    with transaction.atomic():
        world.o.name += "?"
        world.save()
        in_a_block(world, lambda w: w.assign(w.value(30)), World.save, refresh)
        world.save()


def manual(world):
    transaction.set_autocommit(False)
    try:
        world.save()
        transaction.rollback()
    finally:
        transaction.set_autocommit(True)


def failed(world):
    """A save that the server refuses."""
    name, world.o.name = world.o.name, "\0"
    try:
        world.save()
    finally:
        world.o.name = name


def save_name(world):
    world.o.name += "!"
    world.save(update_fields=["name"])


def copy_by_key(world):
    world.o.pk = world.o.id = None
    world.o._state.adding = True


def forget_key(world):
    world.o.pk = world.o.id = None


def other_key(world):
    world.o.pk = world.o.id = 2


def refresh(world, **options):
    world.o.refresh_from_db(**options)


def switch_schema(world):
    """As django-tenants does, on the same connection."""
    with connections[HERE].cursor() as cursor:
        cursor.execute("SHOW search_path")
        (path,) = cursor.fetchone()
        now = path[8:] if path.startswith("tenant") else f"tenant, {path}"
        cursor.execute(f"SET search_path = {now}")


def delete(world):
    world.o.delete()


def bulk_create(world, **options):
    world.row.objects.bulk_create([world.o], **options)


def upsert(world):
    bulk_create(world, update_conflicts=True, update_fields=["read"], unique_fields=["id"])


def bulk_update(world):
    world.model.objects.bulk_update([world.o], ["read"])


def get_or_create(world):
    world.o, _ = world.model.objects.get_or_create(id=world.o.id, defaults={"name": "made", "read": world.value(8)})


def update(world):
    world.row.objects.filter(id=world.o.id).update(read=world.expression(True, 40))


def others_update(world):
    world.model.objects.using("other").filter(id__in=[1, 2]).update(read=world.value(100))


def others_update_or_create(world):
    world.model.objects.using("other").update_or_create(id=1, defaults={"read": world.value(101), "name": "o"})


def others_null(world):
    world.model.objects.using("other").filter(id=1).update(read=None)


def others_delete(world):
    world.model.objects.using("other").filter(id=1).delete()


def others_save(world):
    other = world.model.objects.using("other").get(id=1)
    other.read = world.value(102)
    other.save()


OTHERS = [others_update, others_update_or_create, others_null, others_delete, others_save]
STEPS = {
    "assign": lambda w: w.assign(w.value(5)),
    "assign more": lambda w: w.assign(w.value(5, 6)),
    "assign back": lambda w: w.assign(w.value(1, 2)),
    "assign none": lambda w: w.assign(None),
    "assign empty": lambda w: w.assign(w.value()),
    "assign itself": lambda w: w.assign(w.o.read),
    "append": append,
    "look": lambda w: w.o.read,
    "save": World.save,
    "save it": lambda w: w.save(update_fields=["read"]),
    "save name": save_name,
    "force update": lambda w: w.save(force_update=True),
    "force insert": lambda w: w.save(force_insert=True),
    "save there": lambda w: w.save(using=THERE),
    "save here": lambda w: w.save(using=HERE),
    "asave": lambda w: async_to_sync(w.o.asave)(),
    "rolled back": lambda w: in_a_block(w, World.save),
    "read again and rolled back": lambda w: in_a_block(w, World.save, refresh),
    "got and rolled back": lambda w: in_a_block(w, World.save, World.get),
    "committed": committed,
    "savepoint": savepoint,
    "manual": manual,
    "switch schema": switch_schema,
    "add": lambda w: w.assign(w.expression(True, 41)),
    "remove": lambda w: w.assign(w.expression(False, 1)),
    "update": update,
    "failed": failed,
    "forget key": forget_key,
    "copy by key": copy_by_key,
    "other key": other_key,
    "delete": delete,
    "refresh": refresh,
    "refresh it": lambda w: refresh(w, fields=["read"]),
    "refresh name": lambda w: refresh(w, fields=["name"]),
    "arefresh": lambda w: async_to_sync(w.o.arefresh_from_db)(),
    "copy": lambda w: setattr(w, "o", copy.copy(w.o)),
    "deepcopy": lambda w: setattr(w, "o", copy.deepcopy(w.o)),
    "pickle": lambda w: setattr(w, "o", pickle.loads(pickle.dumps(w.o))),
    "bulk_create": bulk_create,
    "upsert": upsert,
    "bulk_update": bulk_update,
    "get_or_create": get_or_create,
    **{step.__name__: step for step in OTHERS},
}


def scripts():
    """All pairs of steps with a save() at the end, and longer ones at random."""
    chosen = random.Random(SEED)
    for kind, start in itertools.product(SETS, STARTS):
        for steps in itertools.product(STEPS, repeat=2):
            # What a bulk operation does not do with a child's tables, it does with none.
            if kind == "row" or chosen.random() < 0.1:
                yield kind, start, (*steps, "save")
    for _ in range(4000):
        steps = chosen.choices(list(STEPS), k=chosen.randint(3, 7))
        yield chosen.choice(list(SETS)), chosen.choice(list(STARTS)), (*steps, "save")


def shown(read):
    """A value as both kinds have it; not so a set that could be changed in place, unnoticed."""
    if hasattr(read, "resolve_expression"):
        return "expression"  # which Django before 6 leaves
    return read if read is None or hasattr(read, "add") else sorted(read)


def play(models, kind, start, steps):
    """Runs a script; gives what it left."""
    tables = models["child"]._meta.db_table, models["row"]._meta.db_table
    for database in (HERE, THERE):
        with connections[database].cursor() as cursor:
            cursor.execute("RESET search_path")
            for schema in ("public", "tenant"):
                child, row = (f"{schema}.{table}" for table in tables)
                cursor.execute(f"DELETE FROM {child}; DELETE FROM {row}; SELECT setval('{row}_id_seq', 10)")
            cursor.execute(f"INSERT INTO tenant.{tables[1]} (id, name, read) VALUES (1, 'tenant', '{{50}}')")
    models[kind].objects.create(id=1, name="first", read=[1, 2])
    world = World(models, kind)
    STARTS[start](world)
    for step in steps:
        try:
            STEPS[step](world)
            world.errors.append("")
        except Exception as error:
            world.errors.append(type(error).__name__)

    try:
        value = shown(world.o.read)
    except Exception as error:
        value = type(error).__name__
    rows = []
    for database, schema in ((HERE, "public"), (HERE, "tenant"), (THERE, "public")):
        with connections[database].cursor() as cursor:
            cursor.execute(f"SELECT id, name, read::bigint[] FROM {schema}.{tables[1]} ORDER BY id")
            rows.append(cursor.fetchall())
    return world.errors, value, rows


@pytest.fixture(scope="module")
def tables(database, connection_for_module):
    connection_for_module.execute(f"CREATE DATABASE {database}_elsewhere")
    for alias in connections:
        connections[alias].settings_dict["NAME"] = database if alias != THERE else f"{database}_elsewhere"
    made = [models[kind] for models in (SETS, PLAIN) for kind in ("row", "child")]
    with connections[THERE].cursor() as cursor:
        cursor.execute("CREATE EXTENSION roaring64")
    for alias in (HERE, THERE):
        with connections[alias].cursor() as cursor:
            cursor.execute("CREATE SCHEMA tenant")
            for path in ("DEFAULT", "tenant, \"my types\", public"):
                cursor.execute(f"SET search_path TO {path}")
                with connections[alias].schema_editor() as editor:
                    for model in made:
                        editor.create_model(model)
            cursor.execute("RESET search_path")
    yield
    connections.close_all()
    connection_for_module.execute("DROP SCHEMA tenant CASCADE")
    connection_for_module.execute(f"DROP DATABASE {database}_elsewhere WITH (FORCE)")


def test_matrix(tables):
    differences, cells, raised = [], 0, 0
    chosen = random.Random(f"which {SEED}")
    for kind, start, steps in (script for script in scripts() if chosen.random() * EVERY < 1):
        cells += 1
        is_, should_be = (play(models, kind, start, steps) for models in (SETS, PLAIN))
        raised += any(is_[0])
        if is_ != should_be:
            differences.append(f"{kind}: {start}, {', '.join(steps)}\n  is        {is_}\n  should be {should_be}")
    print(f"{cells} cells of seed {SEED}, {raised} with an exception, {len(differences)} differences")
    assert not differences, "\n".join([f"{len(differences)} of {cells}", *differences[:5]])
