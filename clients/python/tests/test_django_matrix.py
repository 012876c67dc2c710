"""The field of Django beside a plain JSON field that is told the same: what is in the rows afterwards.

A script is a way to get an object and some steps.  It is run on a model with a set and on the same
model with JSON, and rows, exceptions and the object's value must agree.  In scripts in which others
change the row, the JSON field does by hand what the set promises: what was not assigned since the
object was read, or saved for good, is replaced by what the row has before it is saved.
"""

import copy
import itertools
import os
import pickle
import random

import pytest
from asgiref.sync import async_to_sync

from test_django import WAY  # first, as it decides which driver Django takes

from django.db import DEFAULT_DB_ALIAS as HERE
from django.db import connections, models, transaction
from django.test.utils import CaptureQueriesContext

from roaring64.django import Roaring64Field

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


SETS, PLAIN = make_models("Set", Roaring64Field), make_models("Plain", models.JSONField)


class World:
    """An object of one of the models, and what a script has done with it."""

    def __init__(self, models, kind, others):
        self.model, self.row = models[kind], models["row"]
        self.is_plain, self.others = models is PLAIN, others
        self.errors = []
        # Others' values are not those of the scripts.
        self.model.objects.create(id=2, name="second", read=self.value(20))

    def value(self, *ids):
        return list(ids) if self.is_plain else set(ids)

    def read_anew(self, queryset=None):
        self.o = (self.model.objects if queryset is None else queryset).get(id=1)
        self.note()

    def note(self):
        """The object's value is what is in its row."""
        self.known = self.o._state.db, self.o.id

    def assign(self, value):
        self.o.read = value
        self.known = None

    def save(self, call=None, counts=True, writes=True, **options):
        """Saves the object.  counts: for good; writes: with the set."""
        call = call or self.o.save
        database = options.get("using") or self.o._state.db or HERE
        kept = self.others and self.is_plain and self.known == (database, self.o.id)
        now = self.row.objects.using(database).filter(id=self.o.id).values_list("read", flat=True)
        if kept and "read" in self.o.__dict__ and now.exists() and not options.get("force_insert"):
            before, self.o.read = self.o.read, now.get()
            try:
                call(**options)
            finally:
                self.o.read = before
        else:
            call(**options)
        if counts and writes and not kept:
            self.note()


def nothing(world):
    pass


def start_constructed(world):
    world.o = world.model(id=1, name="constructed", read=world.value(1, 3))
    world.known = None


def start_new(world):
    world.o = world.model(name="new", read=world.value(1, 4))
    world.known = None


def start_created(world):
    world.o = world.model.objects.create(name="created", read=world.value(1, 4))
    world.note()


def start_default(world):
    """NULL, as nothing was said."""
    world.o = world.model(id=1, name="default")
    world.known = None


STARTS = {
    "get": World.read_anew,
    "defer": lambda w: w.read_anew(w.model.objects.defer("read")),
    "only": lambda w: w.read_anew(w.model.objects.only("name")),
    "raw": lambda w: w.read_anew(w.model.objects.filter(name="first")),
    "constructed": start_constructed,
    "new": start_new,
    "created": start_created,
    "default": start_default,
}


def append(world):
    before = world.o.read
    if world.is_plain:
        world.assign([*(before or []), 9] if 9 not in (before or []) else before)
    else:
        world.assign({9} if before is None else before | {9})


def rolled_back(world):
    with transaction.atomic():
        world.save(counts=False)
        transaction.set_rollback(True)


def committed(world):
    """It is not known in the block whether it will be."""
    with transaction.atomic():
        world.save(counts=False)


def failed(world):
    """A save that the server refuses."""
    name, world.o.name = world.o.name, "\0"
    try:
        world.save()
    finally:
        world.o.name = name


def save_name(world):
    world.o.name += "!"
    world.save(update_fields=["name"], writes=False)


def copy_by_key(world):
    world.o.pk = world.o.id = None
    world.o._state.adding = True


def forget_key(world):
    world.o.pk = world.o.id = None


def other_key(world):
    world.o.pk = world.o.id = 2


def refresh(world, **options):
    world.o.refresh_from_db(**options)
    if "read" in options.get("fields", ["read"]) and "read" in world.o.__dict__:
        world.note()


def arefresh(world):
    async_to_sync(world.o.arefresh_from_db)()
    if "read" in world.o.__dict__:
        world.note()


def delete(world):
    world.o.delete()


def bulk_create(world, **options):
    world.row.objects.bulk_create([world.o], **options)


def upsert(world):
    bulk_create(world, update_conflicts=True, update_fields=["read"], unique_fields=["id"])


def bulk_update(world):
    world.model.objects.bulk_update([world.o], ["read"])


def get_or_create(world):
    world.o, created = world.model.objects.get_or_create(
        id=world.o.id, defaults={"name": "made", "read": world.value(8)}
    )
    world.known = None if created else (world.o._state.db, world.o.id)


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
    "asave": lambda w: w.save(async_to_sync(w.o.asave)),
    "rolled back": rolled_back,
    "committed": committed,
    "failed": failed,
    "forget key": forget_key,
    "copy by key": copy_by_key,
    "other key": other_key,
    "delete": delete,
    "refresh": refresh,
    "refresh it": lambda w: refresh(w, fields=["read"]),
    "refresh name": lambda w: refresh(w, fields=["name"]),
    "arefresh": arefresh,
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
    return read if read is None or hasattr(read, "add") else sorted(read)


def play(models, kind, start, steps):
    """Runs a script; gives what it left."""
    for database in (HERE, THERE):
        with connections[database].cursor() as cursor:
            cursor.execute(
                "DELETE FROM {0}; DELETE FROM {1}; SELECT setval('{1}_id_seq', 10)".format(
                    models["child"]._meta.db_table, models["row"]._meta.db_table
                )
            )
    models[kind].objects.create(id=1, name="first", read=[1, 2])
    world = World(models, kind, any(step.startswith("others") for step in steps))
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
    rows = [
        [(*row, shown(read)) for *row, read in models["row"].objects.using(d).order_by("id").values_list("id", "name", "read")]
        for d in (HERE, THERE)
    ]
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
        with connections[alias].schema_editor() as editor:
            for model in made:
                editor.create_model(model)
    yield
    connections.close_all()
    connection_for_module.execute(f"DROP DATABASE {database}_elsewhere WITH (FORCE)")


def test_matrix(tables):
    differences, cells = [], 0
    chosen = random.Random(f"which {SEED}")
    for kind, start, steps in (script for script in scripts() if chosen.random() * EVERY < 1):
        cells += 1
        is_, should_be = (play(models, kind, start, steps) for models in (SETS, PLAIN))
        if is_ != should_be:
            differences.append(f"{kind}: {start}, {', '.join(steps)}\n  is        {is_}\n  should be {should_be}")
    print(f"{cells} cells of seed {SEED}, {len(differences)} differences")
    assert not differences, "\n".join([f"{len(differences)} of {cells}", *differences[:5]])


def test_noting_the_row_asks_for_nothing(tables):
    """Whatever of an object is read at first, one query reads all."""
    for number in range(20):
        SETS["child"].objects.create(name=str(number), read={number})
    for kind in ("row", "child", "proxy"):
        objects = SETS[kind].objects
        querysets = [objects.all(), objects.only("name"), objects.defer("name", "read")]
        for queryset in [*querysets, *([objects.only("more")] if kind == "child" else [])]:
            with CaptureQueriesContext(connections[HERE]) as queries:
                assert len(list(queryset)) >= 20
            assert len(queries) == 1
