# clients.sh
#	  What the tests with programs in other languages share.  To be sourced, by
#	  bash, in the root of the tree.
#
# Those programs run as the user who calls, whose package managers and caches
# they need; the server is a private one (tools/private-server).

. tools/common.sh

# No program may wait for input or show us another language.
exec </dev/null
export LC_ALL=C.UTF-8 CI=1
# bytes, with what the server says of them
export ROARING64_VECTORS=$PWD/clients/vectors.json
umask 022

passed=0
failed=0
work=$(mktemp -d) || exit 1
chmod 711 "$work"
SERVER=()

clean_up()
{
	stop_server
	chmod -R u+w "$work"
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# want_package language: sets "package" to the package's folder, and installs what
# its tests need; or ends with 77 where there is no such folder.
want_package()
{
	package=clients/$1
	[ -d "$package" ] || { say "The archives of a release do not have $package."; exit 77; }
	tools/install-deps "$1" || die "what the tests need could not be installed"
}

# start_server [option of private-server ...]: a server that lives until
# stop_server, with PGHOST and the like set for its clients.
start_server()
{
	launch_server "$@"
	await_server
}

# The two halves of that, for something else to be done meanwhile.
launch_server()
{
	coproc SERVER {
		exec tools/private-server "$@" \
			bash -c 'echo "$PGHOST $PGPORT"; exec cat >/dev/null'
	}
	server_process=$SERVER_PID
}

await_server()
{
	read -r PGHOST PGPORT <&"${SERVER[0]}" || return
	export PGHOST PGPORT PGUSER=postgres PGDATABASE=postgres PSQLRC=/dev/null
	PATH=$("$(find_pg_config)" --bindir):$PATH
}

# What the server runs ends when its input does.
stop_server()
{
	local input=${SERVER[1]:-}

	[ -n "$input" ] || return 0
	eval "exec $input>&-"
	wait "$server_process" 2>/dev/null
	SERVER=()
}

# have program ...: all are there; says which is not.
have()
{
	local program

	for program; do
		command -v "$program" >/dev/null || {
			say "$program is not installed"
			return 1
		}
	done
}

# fetch command ...: gets packages; says that this failed.
fetch()
{
	"$@" >"$work/fetch.log" 2>&1 && return
	cat "$work/fetch.log"
	say "packages could not be fetched: $*"
	return 1
}

# passes "what should hold" command ...: it does if the command succeeds.
passes()
{
	local name=$1
	shift

	if "$@" >"$work/log" 2>&1; then
		say "ok - $name"
		passed=$((passed + 1))
	else
		say "not ok - $name"
		sed 's/^/    /' "$work/log"
		failed=$((failed + 1))
	fi
}

# check_package [version]: what the folder of any package has.
check_package()
{
	passes "LICENSE is that of the extension" cmp LICENSE "$package/LICENSE"
	[ $# = 0 ] || passes "CHANGELOG.md has the version $1" grep "^## $1 " "$package/CHANGELOG.md"
}

# prepare_languages prepare_command language ...: runs the command for each
# language.  It gives 77 if the language cannot be used here, another status
# but 0 if it should work and does not.  Sets "languages" to those that can be
# used.  If the caller named them (in "named"), all of them must.
prepare_languages()
{
	local command=$1 language
	shift

	languages=()
	for language; do
		"$command" "$language"
		case $? in
			0) languages+=("$language") ;;
			77) say "$language is LEFT OUT, for the reason above"
				[ -z "$named" ] || exit 77 ;;
			*) say "$language: could not be built"
				failed=$((failed + 1)) ;;
		esac
	done
	[ ${#languages[@]} != 0 ] || [ "$failed" != 0 ] || exit 77
}

# The last line, and the status.
finish()
{
	say "$passed passed, $failed failed"
	[ "$failed" = 0 ]
	exit
}
