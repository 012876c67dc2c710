# Makefile
#	  Build, install and test roaring64 with PGXS.
#
#	make, make install, make installcheck, make clean
#		as for any extension; PG_CONFIG=... names the server to build for
#	make demo, make test, make sanitize, make fuzz, make valgrind, make bench
#		on a bare Debian machine: install what is missing, then run on a
#		private server that is removed afterwards
#	make indent, make indent-check
#		lay out the sources, or show what that would change; needs the
#		development files of PostgreSQL 17 or 18
#	make dist
#		the archives of a release, in the folder above
#
# CRoaring's sources become part of the module.  They are in the folder croaring
# of this tree, where the archive of a release has them, or in another one, with
# ROARING_SOURCE=DIR for every make that builds; either is a checkout or an
# amalgamation.  Without them, or with ROARING_SOURCE=, the module opens the
# system's library when it is loaded.  "make clean" comes between one way and the
# other.
#
# Overridable: PG_CONFIG, PKG_CONFIG, ROARING_CFLAGS, ROARING_LIBS,
# ROARING_SONAME, and WERROR=-Werror so that no warning passes.

all:

# Where this Makefile is; the build may happen elsewhere (VPATH).
top := $(or $(VPATH),$(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST)))))

EXTENSION = roaring64 roaring64_tables roaring64_compat
MODULE_big = roaring64

# The install scripts of these versions are put together from their sections, in
# this order.  Scripts of released versions, and those that update one to the next,
# are files: sql/roaring64--1.0.sql, sql/roaring64--1.0--1.1.sql.
script = sql/$(1)--$(shell sed -n "s/^default_version = '\(.*\)'$$/\1/p" \
	$(top)/$(1).control).sql
SQL_SCRIPT := $(call script,roaring64)
SQL_PARTS = $(patsubst %,$(top)/sql/parts/%.sql,header version type casts compare \
	operators functions aggregates gin shared dedup)
TABLES_SCRIPT := $(call script,roaring64_tables)
TABLES_PARTS = $(patsubst %,$(top)/sql/tables/%.sql,header helpers delay \
	numbers dict advise rollup_text rollup_make rollup)
DATA_built = $(SQL_SCRIPT) $(TABLES_SCRIPT)
DATA = $(filter-out $(DATA_built),$(patsubst $(top)/%,%,\
	$(sort $(wildcard $(top)/sql/roaring64*--*.sql))))
SOURCE_DIRS = src $(patsubst $(top)/%/,%,$(sort $(wildcard $(top)/src/*/)))
SOURCES = $(foreach dir,$(SOURCE_DIRS),$(sort $(wildcard $(top)/$(dir)/*.c)))
ALL_HEADERS = $(wildcard $(top)/src/*.h $(top)/src/*/*.h)
OBJS = $(patsubst $(top)/%.c,%.o,$(SOURCES))

# Expected output lies in expected/: pg_regress looks for it below the output
# directory (to 15) or --expecteddir (from 16), and both are "." by default.
# The isolation tester writes to output_iso unless told otherwise.  The databases
# of both have UTF8 and the locale C, also where the cluster was made without a
# locale and has SQL_ASCII, for which there are no collations of ICU.  PGXS runs
# what is defined and not empty before expansion, hence ":=".  The environment
# may say TAP_TESTS=, to leave these out.
DATABASE_OPTS = --encoding=UTF8 --no-locale
REGRESS := $(sort $(notdir $(basename $(wildcard $(top)/test/sql/*.sql))))
REGRESS_OPTS = --inputdir=$(top)/test $(DATABASE_OPTS)
ISOLATION := $(sort $(notdir $(basename $(wildcard $(top)/test/specs/*.spec))))
ISOLATION_OPTS = --inputdir=$(top)/test --outputdir=. $(DATABASE_OPTS)
PROVE_TESTS := $(patsubst $(top)/%,%,$(sort $(wildcard $(top)/test/t/*.pl)))
ifeq ($(origin TAP_TESTS),undefined)
TAP_TESTS := $(if $(PROVE_TESTS),1)
endif

PG_CONFIG ?= pg_config
PKG_CONFIG ?= pkg-config

# Warnings that PostgreSQL's own headers survive, beyond those of PGXS.  They
# are errors only where asked for, as a newer compiler has new ones.  The C
# dialect is PGXS's, or the compiler's own, since the server's headers are made
# for that.
WARNINGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers -Wstrict-prototypes \
	-Wold-style-definition -Wwrite-strings
WERROR ?=

# These goals compile nothing here, so they need not find CRoaring, and those
# of the first line not even PostgreSQL.
BARE_GOALS = install-deps demo test sanitize fuzz valgrind bench dist
OTHER_GOALS = clean distclean maintainer-clean uninstall installcheck indent \
	indent-check
GOALS := $(or $(MAKECMDGOALS),all)

ifeq ($(origin ROARING_SOURCE),undefined)
ROARING_SOURCE := $(wildcard $(top)/croaring)
endif

ifneq ($(filter-out $(BARE_GOALS) $(OTHER_GOALS),$(GOALS)),)

ifndef ROARING_SOURCE
ifeq ($(origin ROARING_LIBS),undefined)
ifneq ($(shell $(PKG_CONFIG) --atleast-version=4 roaring 2>&1 && echo yes),yes)
define NO_CROARING
CRoaring 4 or newer was not found. One of these is needed:
  its sources in the folder croaring, which become part of the module: README.md,
    "Install", has the line that fetches them
  its sources elsewhere: make ROARING_SOURCE=DIR
  the library of the system with its headers, such as libroaring-dev or
    croaring-devel; "$(PKG_CONFIG) --modversion roaring" says: $(or $(shell \
    $(PKG_CONFIG) --modversion roaring 2>/dev/null),not found)
    (PKG_CONFIG_PATH, or ROARING_CFLAGS and ROARING_LIBS, name another place)
  on a developer's machine with Debian: tools/install-deps, which brings that of
    Debian sid where the release's own is too old
endef
$(error $(NO_CROARING))
endif
ROARING_CFLAGS ?= $(shell $(PKG_CONFIG) --cflags roaring)
ROARING_LIBS := $(shell $(PKG_CONFIG) --libs roaring)
endif

# The module is not linked with CRoaring but opens it by this name when it is
# loaded: see src/engine/croaring.c.
ifeq ($(origin ROARING_SONAME),undefined)
ROARING_SONAME := $(shell $(top)/tools/roaring-soname $(CC) $(ROARING_LIBS))
ifeq ($(ROARING_SONAME),)
$(error no shared CRoaring library was found with "$(ROARING_LIBS)")
endif
endif
endif

endif

# The version of the release, which roaring64_version() tells.
ROARING64_VERSION = $(shell sed -n '/^   "version"/s/.*"\([0-9.]*\)",$$/\1/p' $(top)/META.json)

# In CPPFLAGS, because bitcode is compiled with these and not with CFLAGS.
PG_CPPFLAGS = -I$(top)/src -DROARING64_VERSION='"$(ROARING64_VERSION)"' \
	$(patsubst -I%,-isystem %,$(ROARING_CFLAGS)) \
	$(if $(ROARING_SOURCE),-isystem croaring-build/include -DR64_LINK_KERNELS,\
	-DROARING_SONAME='"$(ROARING_SONAME)"')
PG_CFLAGS = $(WARNINGS) $(WERROR)

# The version script hides all but what the server looks up, which PGXS does
# from 16 on only.  -Bsymbolic keeps calls within the module in the module, as
# another may export a function of the same name.  A library directory that
# the user gave with -Wl,-rpath is searched when CRoaring is opened.  Of a
# CRoaring that is compiled in only what is called becomes part of the module.
VERSION_SCRIPT = $(top)/src/roaring64.map
CROARING_OBJ = $(if $(ROARING_SOURCE),croaring-build/croaring.o)
SHLIB_LINK = $(if $(filter linux freebsd netbsd openbsd,$(PORTNAME)),\
	-Wl$(comma)--version-script=$(VERSION_SCRIPT) -Wl$(comma)-Bsymbolic) \
	$(if $(ROARING_SOURCE),$(CROARING_OBJ) -Wl$(comma)$(if $(filter darwin,\
	$(PORTNAME)),-dead_strip,--gc-sections),\
	$(filter -Wl%,$(ROARING_LIBS)) $(if $(filter linux,$(PORTNAME)),-ldl))
EXTRA_CLEAN = croaring-build
comma = ,

ifneq ($(filter-out $(BARE_GOALS),$(GOALS)),)
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq ($(PGXS),)
$(error "$(PG_CONFIG) --pgxs" gives nothing: install the server's development \
files, or set PG_CONFIG)
endif
include $(PGXS)

# Debian has PGXS in the client's package, and the headers in another one.
ifneq ($(filter-out $(BARE_GOALS) $(OTHER_GOALS),$(GOALS)),)
ifeq ($(wildcard $(includedir_server)/postgres.h),)
$(error $(includedir_server) has no header files: install the server's \
development files (on Debian, postgresql-server-dev-$(MAJORVERSION)), or set \
PG_CONFIG)
endif
endif

$(OBJS) $(OBJS:.o=.bc): $(ALL_HEADERS)

# An empty line between two sections; and a script knows its version.
.PHONY: scripts
scripts: $(DATA_built)
$(SQL_SCRIPT): $(SQL_PARTS)
$(TABLES_SCRIPT): $(TABLES_PARTS)
$(DATA_built): $(top)/Makefile
	mkdir -p $(@D)
	awk -v version=$(lastword $(subst --, ,$(basename $(@F)))) \
		'FNR == 1 && NR > 1 { print "" } { gsub(/@version@/, version) } 1' $(filter %.sql,$^) >$@

$(shlib): $(VERSION_SCRIPT) $(CROARING_OBJ)

# The script lets croaring.c be where CRoaring has not changed.
ifdef ROARING_SOURCE
croaring-build/croaring.c: FORCE
	@$(top)/tools/roaring-source $(ROARING_SOURCE) $(@D)

$(OBJS) $(OBJS:.o=.bc): croaring-build/croaring.c

$(CROARING_OBJ): croaring-build/croaring.c
	$(CC) $(CFLAGS) $(CFLAGS_SL) -Icroaring-build/include -DNDEBUG -w \
		-fvisibility=hidden -ffunction-sections -fdata-sections -c -o $@ $<

# CRoaring's licenses ask to come with the module that has its code.
NOTICE = $(DESTDIR)$(docdir)/$(docmoduledir)/roaring64-croaring.txt
install: install-notice
install-notice: croaring-build/croaring.c
	$(MKDIR_P) '$(dir $(NOTICE))'
	$(INSTALL_DATA) croaring-build/notice '$(NOTICE)'

uninstall: uninstall-notice
uninstall-notice:
	rm -f '$(NOTICE)'

.PHONY: install-notice uninstall-notice FORCE
endif

# Which CRoaring it is, where something is built and make is not told to be silent.
# That of Debian 12 and 13 is too old, so tools/install-deps takes that of sid.
ifneq ($(filter-out $(BARE_GOALS) $(OTHER_GOALS),$(GOALS)),)
ifeq ($(findstring s,$(firstword -$(MAKEFLAGS))),)
FOREIGN := $(filter bookworm trixie,$(shell . /etc/os-release 2>/dev/null && echo $$VERSION_CODENAME))
$(info CRoaring: $(if $(ROARING_SOURCE),the sources in $(ROARING_SOURCE) become \
part of the module,the library $(ROARING_SONAME) of this system$(comma) version \
$(shell $(PKG_CONFIG) --modversion roaring 2>/dev/null)$(comma) which the \
server opens at run time$(if $(FOREIGN),; it is not one of Debian $(FOREIGN)$(comma) \
whose own is too old)))
endif
endif

# pgindent is one of PostgreSQL's development files since 17.  Where its version
# of pg_bsd_indent is not 2.1.2, as in 19, the layout differs in details.
INDENT_DIRS = $(top)/src $(top)/test
PGINDENT = $(bindir)/pgindent --indent=$(bindir)/pg_bsd_indent \
	--typedefs=$(top)/typedefs.list

.PHONY: indent indent-check
indent:
	$(PGINDENT) $(INDENT_DIRS)

indent-check:
	@$(PGINDENT) --check --diff $(INDENT_DIRS)

# A build elsewhere lacks the folders, and pg_regress wants expected/ there.
ifneq ($(top),.)
$(shell mkdir -p $(SOURCE_DIRS) && ln -sfn $(abspath $(top))/expected expected)
endif
endif

.PHONY: all install-deps demo test sanitize fuzz valgrind bench dist

install-deps:
	@$(top)/tools/install-deps

demo: install-deps
	@echo "Building roaring64 and starting a server in a temporary directory."
	@$(top)/tools/private-server --progress tools/demo.sh

test:
	@$(top)/test/run

sanitize: install-deps
	@$(top)/test/run-unit --sanitize

# FUZZ_SECONDS=1800 runs each target for half an hour.
fuzz: install-deps
	@$(top)/test/run-fuzz

# All regression tests, which takes long.
valgrind: install-deps
	@$(top)/test/run-valgrind

# BENCH_ARGS=--quick shows only that it works.
bench:
	@$(top)/test/bench/run $(BENCH_ARGS)
	@$(top)/test/bench/dedup $(filter --quick,$(BENCH_ARGS))
	@$(top)/test/bench/rollup $(filter --quick,$(BENCH_ARGS))

dist:
	@ROARING_SOURCE='$(ROARING_SOURCE)' $(top)/tools/dist
