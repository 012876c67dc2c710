"""The field of Django.  The last test runs the others with other ways to connect."""

import os
import subprocess
import sys
import threading
import types
from io import StringIO

import pytest

import roaring64

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
        for alias in ("default", "other")
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
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import CreateExtension
from django.core import serializers
from django.core.exceptions import FieldError, ValidationError
from django.core.management import call_command
from django.db import connections, migrations, models, transaction
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.state import ModelState, ProjectState
from django.db.migrations.writer import MigrationWriter
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
    claim,
)

urlpatterns = []


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
    yield
    with django_connection.schema_editor() as editor:
        editor.delete_model(Inbox)
    connections.close_all()


@pytest.fixture(autouse=True)
def rows(tables):
    Inbox.objects.all().delete()
    Inbox.objects.create(id=1, name="a", read={1, 2, -3})
    Inbox.objects.bulk_create(
        [Inbox(id=2, name="b", read=BitMap64([2, 2**64 - 1])), Inbox(id=3, name="c")]
    )


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


def test_read_change_write_loses_nothing():
    """The way that loses ids elsewhere: both read, both change, both save()."""

    def change(add, remove, **kwargs):
        def change(inbox):
            inbox.read = (inbox.read | roaring64.bitmap([add])) - roaring64.bitmap([remove])
            inbox.save(**kwargs)

        return change

    assert in_two_sessions(change(5, 1), change(6, 2)) == [-3, 5, 6]
    assert in_two_sessions(change(7, 9), change(8, 9, update_fields=["read"])) == [-3, 5, 6, 7, 8]


def test_save_of_another_column_keeps_the_set():
    def rename(inbox):
        inbox.name = "renamed"
        inbox.save()

    def add(inbox):
        inbox.read = Add("read", 5)
        inbox.starred = {9}
        inbox.save()

    assert in_two_sessions(add, rename) == [-3, 1, 2, 5]
    assert ids_of(1, "starred") == [9]


def test_first_ids_lose_nothing():
    def star(id):
        def change(inbox):
            inbox.starred = {id}
            inbox.save()

        return change

    in_two_sessions(star(5), star(6))
    assert ids_of(1, "starred") == [5, 6]


def test_what_save_compares_with():
    def others_add(id):
        Inbox.objects.using("other").filter(id=1).update(read=Add("read", id))

    def others_remove(id):
        Inbox.objects.using("other").filter(id=1).update(read=Remove("read", id))

    # what was refreshed
    inbox = Inbox.objects.get(id=1)
    others_remove(1)
    inbox.refresh_from_db()
    others_add(1)
    inbox.save()
    assert ids_of(1) == [-3, 1, 2]
    # what was refreshed, but for the set
    inbox.read = inbox.read | roaring64.bitmap([5])
    inbox.refresh_from_db(fields=["name"])
    inbox.save()
    assert ids_of(1) == [-3, 1, 2, 5]
    # what was not read at first
    inbox = Inbox.objects.defer("read").get(id=1)
    inbox.save()
    assert roaring64.ids(inbox.read) == [-3, 1, 2, 5]
    others_add(6)
    inbox.save()
    assert ids_of(1) == [-3, 1, 2, 5, 6]
    # what was inserted
    inbox = Inbox.objects.create(id=9, read={1})
    Inbox.objects.using("other").filter(id=9).update(read=Add("read", 2))
    inbox.name = "new"
    inbox.save()
    assert ids_of(9) == [1, 2]
    # nothing: a row is written by its key
    Inbox(id=9, read={7}).save()
    assert ids_of(9) == [7]
    # NULL
    inbox = Inbox.objects.get(id=1)
    inbox.starred = {1}
    inbox.save()
    inbox = Inbox.objects.get(id=1)
    inbox.starred = None
    inbox.save()
    assert Inbox.objects.get(id=1).starred is None


def test_rolled_back_save_is_repeated():
    inbox = Inbox.objects.get(id=1)
    inbox.read = {5}
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        inbox.save()
        1 / 0
    assert ids_of(1) == [-3, 1, 2]
    inbox.save()
    assert ids_of(1) == [5]


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
    for expected in (True, False):
        with claim(django_connection, processed, "k", 1) as new:
            assert new is expected
    with pytest.raises(ZeroDivisionError), claim(django_connection, processed, "k", 2):
        1 / 0
    with claim(django_connection, processed, "k", 2) as new:
        assert new is True


@pytest.mark.skipif("ROARING64_TEST_DJANGO" in os.environ, reason="this is one of the others")
@pytest.mark.parametrize("way", ["psycopg2", "server-side"])
def test_other_ways(way):
    """psycopg2 instead of psycopg 3, and parameters that the server binds."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__],
        env={**os.environ, "ROARING64_TEST_DJANGO": way},
        cwd=os.path.dirname(os.path.dirname(__file__)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
