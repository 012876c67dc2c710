"""The field of Django.  The last test runs the others with other ways to connect."""

import json
import os
import subprocess
import sys
import threading
import types
from io import StringIO

import pytest

import roaring64
import roaring64.psycopg
import roaring64.psycopg2

WAY = os.environ.get("ROARING64_TEST_DJANGO", "psycopg")

import django
from django.conf import settings

# The application of the model.
sys.modules["inboxes"] = types.ModuleType("inboxes")
sys.modules["inboxes"].__path__ = [os.path.dirname(__file__)]

settings.configure(
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "django.contrib.sessions",
        "django.contrib.postgres",
        "inboxes",
    ],
    DATABASES={
        alias: {
            "ENGINE": "django.db.backends.postgresql",
            "OPTIONS": {"server_side_binding": True} if WAY == "server-side" else {},
        }
        for alias in ("default", "other", "elsewhere")
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    ROOT_URLCONF=__name__,
    SECRET_KEY="-",
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                    "django.template.context_processors.request",
                ]
            },
        }
    ],
    USE_TZ=True,
)
if WAY == "psycopg2":
    # Django takes psycopg 3 if it can
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "psycopg"}
    sys.modules["psycopg"] = None
django.setup()
from django.db import connection as django_connection

if WAY == "psycopg2":
    django_connection.ensure_connection  # imports the backend
    sys.modules.update(hidden)

from django.contrib import admin
from django.contrib.postgres.aggregates import ArrayAgg
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import CreateExtension
from django.core import serializers
from django.core.exceptions import FieldError, ValidationError
from django.core.management import call_command
from django.db import connections, migrations, models, transaction
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.state import ModelState, ProjectState
from django.db.migrations.writer import MigrationWriter
from django.db.models.functions import Cast, JSONObject
from django.forms import modelform_factory
from django.test import RequestFactory
from pyroaring import BitMap64

from roaring64.django import (
    Add,
    Agg,
    AndAgg,
    Cardinality,
    Intersect,
    OrAgg,
    Remove,
    Roaring64Field,
)

urlpatterns = []


class Note(models.Model):
    inbox = models.ForeignKey("Inbox", models.CASCADE)

    class Meta:
        app_label = "inboxes"


def Agg_of(ids):
    """A value of which Django knows only that it is an expression."""
    return models.ExpressionWrapper(Add(models.Value(roaring64.bitmap(ids), Roaring64Field()), 105), Roaring64Field())


class Inbox(models.Model):
    name = models.TextField(default="")
    read = Roaring64Field(default=())
    starred = Roaring64Field(null=True)

    class Meta:
        app_label = "inboxes"
        indexes = [
            GinIndex(fields=["read"], name="django_by_id"),
            GinIndex(
                fields=["starred"],
                name="django_by_container",
                opclasses=["gin_roaring64_ops (key = container)"],
            ),
        ]


@pytest.fixture(scope="module")
def tables(database):
    for alias in connections:
        connections[alias].settings_dict["NAME"] = database
    with django_connection.schema_editor() as editor:
        editor.create_model(Inbox)
        editor.create_model(Note)
    yield
    with django_connection.schema_editor() as editor:
        editor.delete_model(Note)
        editor.delete_model(Inbox)
    connections.close_all()


@pytest.fixture(autouse=True)
def rows(tables):
    Inbox.objects.all().delete()
    Inbox.objects.create(id=1, name="a", read={1, 2, -3})
    Inbox.objects.bulk_create(
        [Inbox(id=2, name="b", read=BitMap64([2, 2**64 - 1])), Inbox(id=3, name="c")]
    )
    Note.objects.create(inbox_id=1)


def names(*args, **kwargs):
    return "".join(Inbox.objects.filter(*args, **kwargs).order_by("id").values_list("name", flat=True))


def ids_of(id, field="read", using="default"):
    return roaring64.ids(Inbox.objects.using(using).values_list(field, flat=True).get(id=id))


def test_way():
    django_connection.ensure_connection()
    module = type(django_connection.connection).__module__.split(".")[0]
    assert module == ("psycopg2" if WAY == "psycopg2" else "psycopg")


def test_lookups():
    assert names(read__contains=2) == "ab"
    assert names(read__contains=-1) == "b"
    assert names(read__contains={1, 2}) == "a"
    assert names(read__contains=range(0)) == "abc"
    assert names(read__contains=models.F("id")) == "ab"
    assert names(read__contained_by={2, -1}) == "bc"
    assert names(read__overlap=[1, -1]) == "ab"
    assert names(~models.Q(read__overlap=[1, -1])) == "c"
    assert names(read__cardinality=2) == "b"
    assert names(read__cardinality__gt=0) == "ab"
    assert names(read={2, -1}) == "b"
    assert names(read__in=[{2, -1}, set()]) == "bc"
    assert names(starred__isnull=True) == "abc"


@pytest.mark.parametrize("wrong", [1.5, "{1}", True, 2**63, [1.5], [2**63], b"abc"], ids=repr)
def test_bad_input(wrong):
    for lookup in ("contains", "overlap", "contained_by"):
        with pytest.raises((TypeError, ValueError)):
            Inbox.objects.filter(**{f"read__{lookup}": wrong})
    if not isinstance(wrong, str):
        with pytest.raises((TypeError, ValueError)):
            Add("read", wrong)
    with pytest.raises((TypeError, ValueError)):
        Inbox(read=wrong)
    with pytest.raises((TypeError, ValueError)):
        Inbox.objects.filter(id=1).update(read=wrong)
    if not isinstance(wrong, str):
        with pytest.raises(ValidationError):
            Inbox._meta.get_field("read").clean(wrong, None)
    assert ids_of(1) == [-3, 1, 2]


def test_functions():
    def value(expression):
        return Inbox.objects.annotate(value=expression).get(id=1).value

    assert roaring64.ids(value(Add("read", 5))) == [-3, 1, 2, 5]
    assert roaring64.ids(value(Add("read", {5, 6}))) == [-3, 1, 2, 5, 6]
    assert roaring64.ids(value(Add("starred", 5))) == [5]
    assert roaring64.ids(value(Add("read", "id"))) == [-3, 1, 2]
    assert roaring64.ids(value(Remove("read", 1))) == [-3, 2]
    assert roaring64.ids(value(Remove(Add("read", 7), range(-9, 0)))) == [1, 2, 7]
    assert roaring64.ids(value(Intersect("read", {1, 9}))) == [1]
    assert value(Cardinality("read")) == 3


def test_aggregates():
    found = Inbox.objects.aggregate(OrAgg("read"), AndAgg("read"), ids=Agg("id"), none=OrAgg("starred"))
    assert roaring64.ids(found["read__oragg"]) == [-3, -1, 1, 2]
    assert roaring64.ids(found["read__andagg"]) == []
    assert roaring64.ids(found["ids"]) == [1, 2, 3]
    assert found["none"] is None
    groups = Inbox.objects.values("starred").annotate(read=OrAgg("read")).values_list("read", flat=True)
    assert [roaring64.ids(read) for read in groups] == [[-3, -1, 1, 2]]


def test_objects_cannot_be_changed_in_place():
    inbox = Inbox.objects.get(id=1)
    assert type(inbox.read) is roaring64.Bitmap
    with pytest.raises(AttributeError):
        inbox.read.add(8)
    inbox.read = values = BitMap64([1])
    values.add(2)
    inbox.save()
    assert ids_of(1) == [1]
    new = Inbox.objects.create(id=9, read={7})
    with pytest.raises(AttributeError):
        new.read.add(8)


def in_two_sessions(*changes):
    """Reads the first inbox in each of two sessions, then lets each change it."""
    objects = [Inbox.objects.using(alias).get(id=1) for alias in ("default", "other")]
    for inbox, change in zip(objects, changes):
        change(inbox)
    return ids_of(1)


def test_update_loses_nothing():
    for alias, id in (("default", 5), ("other", 6)):
        Inbox.objects.using(alias).filter(id=1).update(read=Add("read", id))
    assert ids_of(1) == [-3, 1, 2, 5, 6]

    def expression(id):
        def change(inbox):
            inbox.read = Add("read", id)
            inbox.save()

        return change

    assert in_two_sessions(expression(7), expression(8)) == [-3, 1, 2, 5, 6, 7, 8]


def test_concurrent_updates_lose_nothing():
    def add(alias, start):
        for id in range(start, start + 50):
            Inbox.objects.using(alias).filter(id=1).update(read=Add("read", id))
        connections[alias].close()

    threads = [threading.Thread(target=add, args=[*args]) for args in (("default", 100), ("other", 200))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ids_of(1) == [-3, 1, 2, *range(100, 150), *range(200, 250)]


def test_what_two_sessions_lose():
    """Two objects of one row, which has {-3,1,2}: what is in it after both are saved."""

    def write(id):
        def change(inbox):
            inbox.read = inbox.read | {id}
            inbox.save()

        return change

    def add(id):
        def change(inbox):
            Inbox.objects.using(inbox._state.db).filter(id=1).update(read=Add("read", id))

        return change

    def add_and_save(id):
        def change(inbox):
            inbox.read = Add("read", id)
            inbox.save()

        return change

    def rename(inbox):
        inbox.name = "renamed"
        inbox.save()

    def rename_alone(inbox):
        inbox.name = "renamed"
        inbox.save(update_fields=["name"])

    cells = [
        ("both assign", write(5), write(6), [-3, 1, 2, 6]),
        ("one adds, the other assigns", add(5), write(6), [-3, 1, 2, 6]),
        ("one assigns, the other adds", write(5), add(6), [-3, 1, 2, 5, 6]),
        ("both add", add(5), add(6), [-3, 1, 2, 5, 6]),
        ("both add by save()", add_and_save(5), add_and_save(6), [-3, 1, 2, 5, 6]),
        ("one adds, the other saves all fields", add(5), rename, [-3, 1, 2]),
        ("one adds, the other saves its name", add(5), rename_alone, [-3, 1, 2, 5]),
        ("one assigns, the other saves its name", write(5), rename_alone, [-3, 1, 2, 5]),
        ("one saves all fields, the other assigns", rename, write(5), [-3, 1, 2, 5]),
    ]
    for name, one, other, expected in cells:
        Inbox.objects.filter(id=1).update(read={1, 2, -3})
        left = in_two_sessions(one, other)
        print(f"{name}: {left}")
        assert left == expected


def attempts(inbox, attempt):
    """Saves {1,2,3} in a block that fails, which attempt() gives the object, and once more."""
    inbox.read = [1, 2, 3]
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        inbox.save()
        inbox = attempt(inbox) or inbox
        1 / 0
    assert list(inbox.read) == [1, 2, 3]
    inbox.save()
    assert ids_of(1) == [1, 2, 3]


@pytest.mark.parametrize("attempt", [lambda o: None, lambda o: o.refresh_from_db(), lambda o: Inbox.objects.get(id=1)])
def test_what_was_rolled_back_is_saved_again(attempt):
    attempts(Inbox.objects.get(id=1), attempt)
    with transaction.atomic():
        attempts(Inbox.objects.get(id=1), attempt)  # a savepoint
    Inbox.objects.filter(id=1).update(read={1})
    transaction.set_autocommit(False)
    try:
        inbox = Inbox.objects.get(id=1)
        inbox.read = [1, 2, 3]
        inbox.save()
        inbox = attempt(inbox) or inbox
        transaction.rollback()
    finally:
        transaction.set_autocommit(True)
    inbox.save()
    assert ids_of(1) == [1, 2, 3]


def test_objects_of_two_schemas():
    """One alias whose search path changes, as with django-tenants: an object's fields are all written."""
    with django_connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA tenant")
        cursor.execute("CREATE TABLE tenant.inboxes_inbox (LIKE public.inboxes_inbox INCLUDING ALL)")
        cursor.execute("INSERT INTO tenant.inboxes_inbox VALUES (1, 'tenant', '{50}', NULL)")
        inbox = Inbox.objects.get(id=1)
        cursor.execute("""SET search_path = tenant, public, "my types\"""")
        try:
            inbox.save()
            assert Inbox.objects.values_list("name", "read").get(id=1) == ("a", {-3, 1, 2})
        finally:
            cursor.execute("RESET search_path")
            cursor.execute("DROP SCHEMA tenant CASCADE")


def test_an_expression_after_save():
    """Django before 6 leaves it in the object, and sends it again."""
    inbox = Inbox.objects.get(id=1)
    inbox.read = Remove("read", 1)
    inbox.save()
    if django.VERSION >= (6,):
        assert inbox.read == {-3, 2}
    else:
        assert type(inbox.read) is Remove
        inbox.refresh_from_db()
    Inbox.objects.filter(id=1).update(read=Add("read", 1))
    inbox.name = "renamed"
    inbox.save(update_fields=["name"])
    assert ids_of(1) == [-3, 1, 2]


@pytest.mark.skipif(django.VERSION < (6, 1), reason="Django has no FETCH_PEERS")
def test_sets_of_peers_are_read():
    first, second, third = Inbox.objects.fetch_mode(models.FETCH_PEERS).defer("read").order_by("id")
    second.read = {7}
    assert list(first.read) == [-3, 1, 2]
    for inbox in (first, second, third):
        inbox.save()
    assert [ids_of(id) for id in (1, 2, 3)] == [[-3, 1, 2], [7], []]


def test_null_and_empty_are_two_values():
    inbox = Inbox.objects.get(id=1)
    for value in (None, (), None, {5}, (), None):
        inbox.starred = value
        inbox.save()
        read = Inbox.objects.get(id=1).starred
        assert read is None if value is None else list(read) == [*value]


def test_in_set():
    """The ids of a field that are in a set, by the index."""
    # A statement takes 65,535 parameters, which Django 4.2 does not know.
    Inbox.objects.bulk_create([Inbox(id=i, read={i, 2 * i}) for i in range(100, 20100)], batch_size=5000)
    with django_connection.cursor() as cursor:
        cursor.execute("ANALYZE inboxes_inbox")
    theirs = Inbox.objects.filter(id=105).values("read")
    for set, expected in (
        ({1, 105, 210, 2**62}, [1, 105, 210]),
        (roaring64.bitmap(range(105, 300, 105)), [105, 210]),
        (theirs, [105, 210]),
        (models.Subquery(theirs), [105, 210]),
        (Agg_of({105, 210}), [105, 210]),
    ):
        found = Inbox.objects.filter(id__in_set=set).order_by("id")
        assert [inbox.id for inbox in found] == expected
        plan = found.order_by().explain()
        assert ("Roaring64 Lookup" if set is theirs else "Index") in plan, plan
        assert "Filter" not in plan
        print(plan)
    assert Inbox.objects.filter(id__in_set=models.F("read")).count() == 20000 + 2
    assert Inbox.objects.exclude(id__in_set=range(100, 20100)).count() == 3
    outer = Inbox.objects.filter(id=models.OuterRef("id"), id__in_set=models.OuterRef("read"))
    assert Inbox.objects.filter(models.Exists(outer)).count() == 20000 + 2
    assert Note.objects.filter(inbox__in_set={1}).count() == Note.objects.filter(inbox_id__in_set={1}).count() == 1
    assert Note.objects.filter(inbox__id__in_set={2}).count() == 0
    for wrong in (1.5, "read", [2**63]):
        with pytest.raises((TypeError, ValueError)):
            Inbox.objects.filter(id__in_set=wrong)


def test_what_people_type_first():
    """It works, or says what does."""
    inboxes = Inbox.objects.filter(id=1)
    with pytest.raises(NotImplementedError, match=r"Use .*\.bitor\(\)"):
        models.F("read") | 4
    inboxes.update(read=models.F("read").bitor(4))
    assert ids_of(1) == [-3, 1, 2, 4]
    with pytest.raises(FieldError, match="perhaps you meant overlap"):
        inboxes.filter(read__overlaps={1})
    with pytest.raises(AttributeError, match=r"'add'.*Add\("):
        inboxes.get().read.add(7)
    inbox = inboxes.get()
    inbox.read |= {7}
    inbox.save()
    assert ids_of(1) == [-3, 1, 2, 4, 7]
    assert 7 in inbox.read
    assert -3 in inbox.read
    assert list(inbox.read) == [-3, 1, 2, 4, 7]


def test_json():
    ids = Cast("read", ArrayField(models.BigIntegerField()))
    inbox = Inbox.objects.annotate(ids=ids, json=JSONObject(read=ids)).get(id=1)
    assert inbox.ids == inbox.json["read"] == json.loads(json.dumps(list(inbox.read))) == [-3, 1, 2]
    with pytest.raises(TypeError):
        json.dumps(inbox.read)
    inbox.read = json.loads("[7, -7]")
    inbox.save()
    assert ids_of(1) == [-7, 7]
    (loaded,) = serializers.deserialize("json", serializers.serialize("json", [inbox]))
    assert list(loaded.object.read) == [-7, 7]
    (loaded,) = serializers.deserialize(
        "json", '[{"model": "inboxes.inbox", "pk": 1, "fields": {"read": [5, -5], "starred": null}}]'
    )
    loaded.save()
    assert ids_of(1) == [-5, 5]


def test_arrays_of_sets():
    """They fail if the connection is not registered, and work if it is."""
    arrays = Inbox.objects.aggregate
    with pytest.raises(ValueError, match="for an array of sets, register the connection"):
        arrays(a=ArrayAgg("read", default=None))
    django_connection.ensure_connection()
    driver = roaring64.psycopg2 if WAY == "psycopg2" else roaring64.psycopg
    driver.register(django_connection.connection)
    try:
        assert sorted(map(list, arrays(a=ArrayAgg("read"))["a"])) == [[], [-3, 1, 2], [-1, 2]]
        assert list(Inbox.objects.get(id=1).read) == [-3, 1, 2]
    finally:
        django_connection.close()


def test_bulk_update_and_iterator():
    inboxes = list(Inbox.objects.all())
    for inbox in inboxes:
        inbox.starred = range(inbox.id)
    Inbox.objects.bulk_update(inboxes, ["starred"])
    for inbox in Inbox.objects.order_by("id").iterator(chunk_size=1):
        assert roaring64.ids(inbox.starred) == list(range(inbox.id))


def test_a_million_ids_in_admin_forms_and_fixtures():
    # In the column whose index has containers: one of a million ids takes seconds.
    large = roaring64.bitmap(range(-1_000_000, 1_000_000, 2))
    Inbox.objects.filter(id=1).update(starred=large)
    inbox = Inbox.objects.get(id=1)
    assert inbox.starred == large

    form = modelform_factory(Inbox, exclude=[])
    assert list(form.base_fields) == ["name"]
    with pytest.raises(FieldError):
        modelform_factory(Inbox, fields=["starred"])
    bound = form({"name": "changed"}, instance=inbox)
    bound.save()
    assert Inbox.objects.get(id=1).starred == large
    inbox.full_clean()

    class InboxAdmin(admin.ModelAdmin):
        list_display = ("name", "starred")
        readonly_fields = ("starred",)

    class User:
        is_active = is_staff = is_authenticated = True
        pk = 1

        def has_perm(self, _permission, _object=None):
            return True

        has_module_perms = has_perm

        def get_username(self):
            return "ann"

    site = admin.AdminSite()
    site.register(Inbox, InboxAdmin)
    view = InboxAdmin(Inbox, site)
    request = RequestFactory().get("/")
    request.user = User()
    (shown,) = [value for name, value in form_values(view, request, inbox) if name == "starred"]
    assert shown == "&lt;bitmap of 1000000 ids from -1000000 to 999998&gt;"

    fixture = serializers.serialize("json", [inbox])
    (loaded,) = serializers.deserialize("json", fixture)
    assert loaded.object.starred == large
    assert roaring64.ids(loaded.object.read) == [-3, 1, 2]
    loaded.object.id = 77
    loaded.save()
    assert Inbox.objects.get(id=77).starred == large


def form_values(view, request, inbox):
    """What the page of an object shows for each field that is not edited."""
    form = view.get_form(request, inbox)(instance=inbox)
    fields = view.get_fieldsets(request, inbox)
    made = admin.helpers.AdminForm(form, fields, {}, view.get_readonly_fields(request, inbox), view)
    for fieldset in made:
        for line in fieldset:
            for field in line:
                if field.is_readonly:
                    yield field.field["name"], field.contents()


def test_migrations(connection):
    """A migration repeats the field, and nothing is found to be changed after it."""
    field = Inbox._meta.get_field("read")
    text, imports = MigrationWriter.serialize(field)
    assert text == "roaring64.django.Roaring64Field(default=(), editable=False)"
    assert imports == {"import roaring64.django"}
    state = ProjectState()
    state.add_model(ModelState.from_model(Inbox))
    assert MigrationAutodetector(state, state.clone())._detect_changes() == {}
    again = field.clone()
    assert again.deconstruct()[1:] == field.deconstruct()[1:]
    indexes = connection.execute(
        "SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'django_by%' ORDER BY 1"
    ).fetchall()
    assert "gin (starred gin_roaring64_ops (key=container))" in indexes[0][0]
    assert "gin (read)" in indexes[1][0]


def test_migration_and_its_reverse(database, connection):
    """In a database without the extension, which the reverse takes away again."""
    connection.execute(f"CREATE DATABASE {database}_migrated")
    settings = {**connections["other"].settings_dict, "NAME": f"{database}_migrated"}
    migrated = connections["other"].copy()
    migrated.settings_dict = settings

    class Migration(migrations.Migration):
        operations = [
            CreateExtension("roaring64"),
            migrations.CreateModel("Box", [("id", models.BigAutoField(primary_key=True))]),
            migrations.AddField("Box", "read", Roaring64Field(default={1, -1})),
            migrations.AddIndex("Box", GinIndex(fields=["read"], name="box_read")),
            migrations.AlterField("Box", "read", Roaring64Field(null=True)),
        ]

    def look(query):
        with migrated.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    fields = "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass('inboxes_box') AND attnum > 0"
    extension = "SELECT extname::text FROM pg_extension WHERE extname = 'roaring64'"
    migration = Migration("0001", "inboxes")
    try:
        for _ in range(2):
            with migrated.schema_editor(atomic=True) as editor:
                migration.apply(ProjectState(), editor)
            assert look(fields) == [("id",), ("read",)]
            look("INSERT INTO inboxes_box (read) VALUES ('{1,2}'), (NULL) RETURNING id")
            with migrated.schema_editor(atomic=True) as editor:
                editor.deferred_sql = []
                migration.unapply(ProjectState(), editor)
            assert look(fields) == look(extension) == []
    finally:
        migrated.close()
        connection.execute(f"DROP DATABASE {database}_migrated WITH (FORCE)")


def test_check_and_inspectdb():
    assert Inbox.check() == []
    output = StringIO()
    call_command("inspectdb", "inboxes_inbox", stdout=output)
    assert "read = " in output.getvalue()


def test_claim(processed):
    """The statement of the README: what the block does goes with it."""

    def claim(id):
        with transaction.atomic(), django_connection.cursor() as cursor:
            cursor.execute("SELECT roaring64_dedup_claim(%s, %s, %s::bigint)", [processed, "payments", id])
            (new,) = cursor.fetchone()
            1 / (id - 2)
        return new

    assert [claim(1), claim(1)] == [True, False]
    with pytest.raises(ZeroDivisionError):
        claim(2)


@pytest.mark.skipif("ROARING64_TEST_DJANGO" in os.environ, reason="this is one of the others")
@pytest.mark.parametrize("way", ["psycopg2", "server-side"])
def test_other_ways(way):
    """psycopg2 instead of psycopg 3, and parameters that the server binds."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, __file__[:-3] + "_matrix.py"],
        env={**os.environ, "ROARING64_TEST_DJANGO": way},
        cwd=os.path.dirname(os.path.dirname(__file__)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
