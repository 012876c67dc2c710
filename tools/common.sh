# common.sh
#	  What the scripts of this folder share.  To be sourced, by bash.

say() { printf '%s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

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
