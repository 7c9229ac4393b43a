# Sourced by up and down: what runs, and how it is ended. A process is known by its
# id and by when it started, so that another one with the same id is left alone.
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
data=${JUNCTION_LOCAL_DIR:-$top/.junction/local}
run=$data/run # NAME.pid: id and start, one a line

# started prints when a process started, or nothing where there is none.
started() { LC_ALL=C ps -o lstart= -p "$1" 2>/dev/null || true; }

# alive NAME: is the process that up started still there? One that has ended and
# that nobody has waited for is not.
alive() {
	local id when
	[[ -f $run/$1.pid ]] || return 1
	{ read -r id && read -r when; } <"$run/$1.pid" || return 1
	[[ $when ]] || return 1 # it had ended before it was looked at
	[[ $(started "$id" | xargs) == "$when" ]] || return 1
	[[ $(LC_ALL=C ps -o stat= -p "$id" 2>/dev/null) != Z* ]]
}

# start NAME PROGRAM...: in the background, its words in log/NAME.log.
start() {
	local name=$1
	shift
	nohup "$@" >>"$data/log/$name.log" 2>&1 </dev/null &
	printf '%s\n%s\n' "$!" "$(started $! | xargs)" >"$run/$name.pid"
}

# stop NAME SECONDS: SIGTERM, and after that long SIGKILL.
stop() {
	local name=$1 until=$((SECONDS + $2)) id=
	if alive "$name"; then
		read -r id <"$run/$name.pid"
		kill "$id" 2>/dev/null || true
		while alive "$name" && ((SECONDS < until)); do sleep 0.1; done
		if alive "$name"; then
			echo "$name did not end within $2 s and is killed" >&2
			kill -9 "$id" 2>/dev/null || true
			until=$((SECONDS + 5))
			while alive "$name" && ((SECONDS < until)); do sleep 0.1; done
		fi
	fi
	rm -f "$run/$name.pid"
}

# Workers first, so that they can hand their threads back; then what they use.
workers=(worker-1 worker-2)
servers=(review-python-v1 review-python-v2 review-js-v2)
stop_all() {
	local name jobs=()
	for name in "${workers[@]}"; do
		stop "$name" 15 & # over their --grace 10s
		jobs+=($!)
	done
	wait "${jobs[@]}"
	jobs=()
	for name in "${servers[@]}"; do
		stop "$name" 15 &
		jobs+=($!)
	done
	wait "${jobs[@]}"
	stop prometheus 15
	stop consul 10
	stop redis 15
}
