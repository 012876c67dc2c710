# common.sh
#	  What the scripts of this folder share.  To be sourced, by bash.

say() { printf '%s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# CRoaring's sources that become part of the module, where the caller does not say:
# those of this tree, as in the Makefile.
tree=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
if [ -z "${ROARING_SOURCE+set}" ] && [ -n "$(ls -A "$tree/croaring" 2>/dev/null)" ]; then
	export ROARING_SOURCE=$tree/croaring
fi

# The version of CRoaring that a release is made with and tested most.
croaring_version() { cat "$tree/packaging/croaring-version"; }

# Prints the version of a copy of CRoaring's sources.
version_of_croaring()
{
	cat "$1/roaring.h" "$1/include/roaring/roaring_version.h" 2>/dev/null |
		sed -n 's/^#define ROARING_VERSION "\(.*\)"$/\1/p' | head -n 1
}

# Prints the scripts of released versions that are not as they were: by the checksums
# that tools/release commits, and by the tags, of which a copy of the tree has none.
changed_scripts()
{
	local tag

	[ ! -e sql/SHA256SUMS ] || LC_ALL=C sha256sum -c --quiet sql/SHA256SUMS 2>/dev/null |
		sed -n 's/: FAILED.*/: is not as it was released, and sql\/parts is of the next version/p'
	for tag in $([ ! -e .git ] || git tag --list 'v*'); do
		git diff --no-renames --name-only --diff-filter=MDT "$tag" -- 'sql/roaring64*--*.sql' |
			sed "s/\$/: is not as $tag has it/"
	done
}

# Whether a pg_config belongs to a server that can be run and built for.
usable_pg_config()
{
	local bindir headers pgxs

	bindir=$("$1" --bindir 2>/dev/null) &&
		headers=$("$1" --includedir-server 2>/dev/null) &&
		pgxs=$("$1" --pgxs 2>/dev/null) &&
		[ -x "$bindir/initdb" ] && [ -x "$bindir/postgres" ] &&
		[ -x "$bindir/psql" ] &&
		[ -f "$headers/postgres.h" ] && [ -f "$pgxs" ]
}

# Prints the pg_config to use: the one in $PG_CONFIG if set, else that of the
# path, else the newest of Debian's.  Fails if none is usable.
find_pg_config()
{
	local candidate

	if [ -n "${PG_CONFIG:-}" ]; then
		usable_pg_config "$PG_CONFIG" && command -v "$PG_CONFIG"
		return
	fi
	for candidate in pg_config \
		$(ls -dr /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -rV); do
		if usable_pg_config "$candidate"; then
			command -v "$candidate"
			return
		fi
	done
	return 1
}

# Prints the address of Debian's archive, as this machine knows it.  The security
# archive and other people's do not carry other releases.
debian_archive()
{
	local codename

	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	apt-get indextargets --format \
		'$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(CODENAME)|$(REPO_URI)' \
		'Created-By: Packages' |
		awk -F '|' -v codename="$codename" '
			$1 == "Debian" && $2 == "Debian" && $3 == "main" {
				if ($4 == codename) { print $5; found = 1; exit }
				if (other == "") other = $5
			}
			END { if (!found && other != "") print other }'
}

# private_apt FOLDER command [argument ...]: apt-get or apt-cache with a list,
# indexes and a cache of its own below the folder, so that the machine's stay as
# they are.  The list is FOLDER/sources.list: see private_apt_source.  An index may
# be older than its validity says, where the archive is a mirror or a snapshot; the
# signature is checked all the same.
private_apt()
{
	local folder=$1 command=$2

	shift 2
	mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" &&
		"$command" -q \
			-o Dir::Etc::sourcelist="$folder/sources.list" \
			-o Dir::Etc::sourceparts=/dev/null \
			-o Dir::Etc::preferences=/dev/null \
			-o Dir::Etc::preferencesparts=/dev/null \
			-o Dir::State::lists="$folder/lists" \
			-o Dir::Cache="$folder/cache" \
			-o APT::Sandbox::User="$(id -un)" \
			-o APT::Update::Post-Invoke::= -o APT::Update::Post-Invoke-Success::= \
			-o Acquire::Check-Valid-Until=false \
			"$@"
}

# private_apt_source deb|deb-src RELEASE: prints the line of a list that says where
# a release's packages are.  Fails if apt has no archive of Debian.
private_apt_source()
{
	local archive target=Packages signed_by=
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg

	archive=$(debian_archive)
	[ -n "$archive" ] || return
	[ ! -r "$keyring" ] || signed_by=" signed-by=$keyring"
	[ "$1" = deb ] || target=Sources
	say "$1 [target=$target lang=none$signed_by] $archive $2 main"
}

# Prints the names of the regression tests in which each statement may take long to
# start: not those that are short statements by the thousands.
long_statements()
{
	local short='advise|aggregates|argument_cache|argument_identity|catalog|chunked_set|compat'

	short+='|damaged|dedup|delay|dict|helpers|moving|numbers|rollup.*|user_state|within'
	ls "$tree/test/sql" | sed 's,\.sql$,,' | grep -vxE "$short"
}

# Sets the arrays roaring_cflags and roaring_libs for programs that are linked
# with CRoaring, as the Makefile's variables say.  The sources of
# $ROARING_SOURCE are compiled in the folder that is given.
find_croaring()
{
	local pkg_config=${PKG_CONFIG:-pkg-config}

	if [ -z "${ROARING_SOURCE:-}" ]; then
		read -ra roaring_cflags <<<"${ROARING_CFLAGS-$($pkg_config --cflags roaring)}"
		read -ra roaring_libs <<<"${ROARING_LIBS-$($pkg_config --libs roaring)}"
		return
	fi
	roaring_cflags=(-isystem "$1/croaring/include")
	roaring_libs=("$1/croaring/croaring.o")
	mkdir "$1/croaring" &&
		tools/roaring-source "$ROARING_SOURCE" "$1/croaring" &&
		"${CC:-gcc}" -O2 -w -DNDEBUG "${roaring_cflags[@]}" -c \
			-o "$1/croaring/croaring.o" "$1/croaring/croaring.c"
}

# Writes what is needed of a copy of CRoaring's sources as an archive with the
# folder croaring.
copy_croaring()
{
	local files=()

	for file in roaring.c roaring.h include src LICENSE AUTHORS; do
		[ ! -e "$1/$file" ] || files+=("$file")
	done
	tar -C "$1" -cf - --mode=u+rwX,go+rX --owner=0 --group=0 \
		--transform 's,^,croaring/,' "${files[@]}"
}
