# SPDX-License-Identifier: MIT
# organ-serve-copy.sh - COPY of a class with all its organs, or of one organ outside of the mount:
# all or nothing. Sourced by organ-serve-put.
#
# 1. An organ is copied to a scratch file beside its slot, and the file is renamed to the slot. That
#    rename is a graft, with the checks of every graft.
# 2. If the slot held a graft before, that one is kept in another scratch file until the end.
# 3. If an organ is refused, or the client hangs up, all grafts of the COPY are undone: those over
#    the base's organ in one step by .undo, the others one by one from the kept files. A slot that
#    another process has filled meanwhile, known by its inode, is left alone.
# 4. Signals are ignored where possible; the script checks for the client between two organs.
# shellcheck shell=bash disable=SC2154 # path and mount are of organ-serve-answers.sh

CLASSES='skeleton|organs|embed|norm|adapters|other'

# Source (a directory or file), and destination: the directory of a class of a model. sources[i] is
# copied to the slot names[i].
from='' to='' model='' class='' destination=''
names=() sources=() outcomes=()
declare -A before=() # by name: how the slot came to what it held, as .grafts says
declare -A inodes=() # by name: of what was put there, or that what was there is set aside

# The path of a slot as the client knows it.
slot_path() {
	echo "${to#"$mount"}/$1"
}

# Scratch files: of the new organ, and of the graft before it.
coming() {
	echo "$to/.organ-serve.$$.$1"
}
kept() {
	echo "$to/.organ-serve.$$.$1.kept"
}

# Print each organ with its outcome, as lines or as a JSON list.
outcomes_of() {
	local i path outcome separator=
	for i in "${!names[@]}"; do
		path=$(slot_path "${names[i]}")
		outcome=${outcomes[i]}
		if wants_json; then
			path=$(json_string "$path")
			printf '%s{"path": %s, "outcome": "%s"}' "$separator" "$path" "$outcome"
			separator=$',\n'
		else
			printf '%s\t%s\n' "$path" "$outcome"
		fi
	done
}

answer_copied() {
	! wants_json ||
		respond '200 OK' "{\"copied\": ${#names[@]}, \"organs\": [$(outcomes_of)]}"
	respond '200 OK' "$(outcomes_of)"
}

# answer_refused STATUS SENTENCE
answer_refused() {
	! wants_json || respond "$1" "$(json_error "$1" "$2" ", \"organs\": [$(outcomes_of)]")"
	respond "$1" "$2"$'\n'"$(outcomes_of)"
}

# The path of an address of this server: in the mount, or in a model mounted beside it.
place_of() {
	case $1 in
	/.models/*) printf '%s\n' "$ORGANFS_POINTS${1#/.models}" ;;
	*) printf '%s\n' "$mount$1" ;;
	esac
}

# The address in the header Destination, as a path.
find_destination() {
	local authority=${HTTP_DESTINATION-}
	case $authority in
	*://*)
		authority=${authority#*://}
		[ "${authority%%/*}" = "${HTTP_HOST-}" ] ||
			answer '502 Bad Gateway' 'The destination is on another server.'
		;;
	/*) ;;
	*) answer '400 Bad Request' 'Destination: an address here is needed' ;;
	esac
	destination=/$(path_of "$HTTP_DESTINATION")
	destination=${destination%/}
	case $destination/ in
	*/../* | */./* | *//* | */.diff/* | *[[:cntrl:]]*)
		answer '400 Bad Request' 'Destination: this is no address here' ;;
	esac
}

# organs_in DIRECTORY: size and name of each organ.
organs_in() {
	find -L "$1" -maxdepth 1 -name '*.bin' ! -name '.*' -printf '%s %f\n' 2>/dev/null |
		sort -k 2
}

# List the organs to copy. Those most likely to be refused come first: organs without a slot, or
# with another size than their slot, and so another shape or type.
find_organs() {
	local size name
	local -A slots=()
	local others=()
	while read -r size name; do
		slots[$name]=$size
	done < <(organs_in "$to")
	while read -r size name; do
		if [ "${slots[$name]-}" = "$size" ]; then
			others+=("$name")
		else
			names+=("$name")
		fi
	done < <(organs_in "$from")
	names+=("${others[@]}")
	for name in "${names[@]}"; do
		sources+=("$from/$name")
	done
}

# Does any of the slots exist?
is_there() {
	local name
	for name in "${names[@]}"; do
		[ ! -e "$to/$name" ] || return 0
	done
	return 1
}

# Read the list of grafts, for the kind of each slot's content.
find_grafts() {
	local file how
	while IFS=$'\t' read -r file how _; do
		[ "${file%/*}" != "$class" ] || before[${file##*/}]=$how
	done <"$model/.grafts"
}

# keep I: set aside the content of the slot if it is a graft, without the effect of adapters on it.
# said is the reason of a failure.
keep() {
	local name=${names[$1]}
	case ${before[$name]-} in
	'' | merged | removed) return 0 ;;
	*' merged') ;;
	*) ! cp -P -- "$to/$name" "$(kept "$1")" 2>/dev/null || return 0 ;;
	esac
	said=$(mv -fT -- "$to/$name" "$(kept "$1")" 2>&1) || return 1
	inodes[$name]=aside
}

# graft I: fill the slot. said is the reason of a failure.
graft() {
	local name=${names[$1]}
	said=$(cp -- "${sources[$1]}" "$(coming "$1")" 2>&1) || return 1
	keep "$1" || return 1
	said=$(mv -fT -- "$(coming "$1")" "$to/$name" 2>&1) || return 1
	inodes[$name]=$(stat -c %i -- "$to/$name" 2>/dev/null)
}

# Does the slot still hold the new organ, or is it still empty since the old one was set aside?
is_ours() {
	case ${inodes[$1]-} in
	'') return 1 ;;
	aside) [ ! -e "$to/$1" ] && [ ! -L "$to/$1" ] ;;
	*) [ "${inodes[$1]}" = "$(stat -c %i -- "$to/$1" 2>/dev/null)" ] ;;
	esac
}

# Restore the earlier state, and set the outcome of each organ.
undo() {
	local i name lines='' all=()
	for i in "${!names[@]}"; do
		name=${names[i]}
		is_ours "$name" || continue
		outcomes[i]='could not be undone'
		case ${before[$name]-} in
		'' | merged)
			lines+=$class/$name$'\n'
			all+=("$i")
			;;
		removed) ! rm -f -- "$to/$name" || outcomes[i]=undone ;;
		*) ! mv -fT -- "$(kept "$i")" "$to/$name" || outcomes[i]=undone ;;
		esac
	done 2>/dev/null
	# close() returns the result of .undo; tee checks it, the shell does not.
	if [ -n "$lines" ] && printf %s "$lines" | tee -- "$model/.undo" >/dev/null 2>&1; then
		for i in "${all[@]}"; do
			outcomes[i]=undone
		done
	fi
}

forget_scratch() {
	local i
	for i in "${!names[@]}"; do
		rm -f -- "$(coming "$i")" "$(kept "$i")"
	done 2>/dev/null
}

# Let one COPY run at a time, so that two of them do not mix.
lock() {
	exec 9>"$ORGANFS_REFUSED/copying"
	until flock -w 1 9; do
		! has_hung_up || exit 0
	done
}

# refusal I: the reason why organ I was refused, from the mount's log or the program that failed.
refusal() {
	local slot
	slot=$(slot_path "${names[$1]}")
	case $said in
	mv:*) reason "$slot" ;;
	*) echo "${slot#/}: ${said##*: }" ;;
	esac
}

copy_all() {
	local i said='' why
	for i in "${!names[@]}"; do
		outcomes[i]='not tried'
	done
	for i in "${!names[@]}"; do
		! has_hung_up || break
		graft "$i" || break
		outcomes[i]=copied
	done
	if [ "${outcomes[-1]}" = copied ]; then
		forget_scratch
		answer_copied
	fi
	why=$(refusal "$i")
	undo
	[ "${outcomes[i]}" != 'not tried' ] || outcomes[i]=refused
	forget_scratch
	answer_refused "$(status_of "$why" '422 Unprocessable Content')" "$why"
}

# Copy one organ to the named slot.
copy_organ() {
	to=$mount${destination%/*}
	names=("${destination##*/}")
	sources=("$from")
}

copy_class() {
	case ${HTTP_DEPTH:-infinity} in
	[Ii]nfinity) ;;
	*) answer '400 Bad Request' 'Depth: a class is copied with all of its organs' ;;
	esac
	to=$mount$destination
	[ ! "$from" -ef "$to" ] || answer '403 Forbidden' 'This is the same directory.'
	[ ! -d "$to" ] || find_organs
}

# Check the header Overwrite for an existing destination.
check_overwrite() {
	[ "${HTTP_OVERWRITE-}" != F ] ||
		answer '412 Precondition Failed' 'A condition of the request is not met.'
}

copy_value() {
	[ ! -e "$mount$destination" ] || check_overwrite
	said=$(cp -- "$from" "$mount$destination" 2>&1) ||
		answer "$(status_of "$said" '422 Unprocessable Content')" "$(reason "$destination")"
	no_content
}

# Handle a COPY that lighttpd does not answer itself.
copy() {
	trap '' INT TERM HUP
	find_destination
	from=$(place_of "${path%/}")
	if [[ -d $from && $from =~ /($CLASSES)$ ]]; then
		copy_class
	elif [[ -f $from && $from =~ /($CLASSES)/[^/]+\.bin$ ]]; then
		copy_organ
	elif [[ -f $from && $from =~ /metadata/[^/]+$ && $destination =~ /metadata/[^/]+$ ]]; then
		copy_value
	else
		answer '404 Not Found' 'There is no such file in the mount.'
	fi
	model=${to%/*}
	class=${to##*/}
	[[ -d $to && -e $model/.grafts && $class =~ ^($CLASSES)$ ]] ||
		answer '409 Conflict' 'Destination: organs are copied into the directory of a class'
	[ "${#names[@]}" -gt 0 ] || answer '404 Not Found' 'There are no organs in this directory.'
	lock
	find_grafts
	! is_there || check_overwrite
	copy_all
}
