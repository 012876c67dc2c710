# common.sh
#	  What benchmarks share.  To be sourced, by bash, before anything is run.
#
# A command that fails ends the benchmark, also one whose output is substituted or piped:
# those for which that is no failure are in a condition or have "|| true".

set -uE -o pipefail

say() { printf '%s\n' "$*" >&2; }

# Of a subshell, $$ is the script; a trap there would not be sure to run.
die()
{
	say "bench: $*"
	[ "$BASHPID" = "$$" ] || kill -s TERM "$$" 2>/dev/null
	exit 1
}
trap 'die "line $LINENO failed: $BASH_COMMAND"' ERR

# The machine: its processor, and how many.
machine()
{
	local model

	model=$(sed -n '/^model name/ { s/^[^:]*: *//p; q }' /proc/cpuinfo 2>/dev/null) || true
	echo "${model:-$(uname -m)}, $(nproc) CPUs"
}
