# SPDX-License-Identifier: MIT
# organ-serve-answers.sh - functions for all parts of organ-serve-put: answers as text or JSON,
# reasons of refusals, checks of the client. Sourced by organ-serve-put; LC_ALL is C.
# shellcheck shell=bash

# Path in JSON errors: the decoded address.
path=${PATH_INFO-}
mount=${ORGANFS_MOUNT%/}

wants_json() {
	[[ ${HTTP_ACCEPT-} == *application/json* ]]
}

# Print a JSON string. Names and addresses can be any bytes; bytes that are no UTF-8 are left out.
json_string() {
	local s=$1
	if [[ $s == *[^[:cntrl:][:print:]]* ]]; then
		s=$(iconv -c -f UTF-8 -t UTF-8 <<<"$s" 2>/dev/null)
	fi
	s=${s//\\/\\\\}
	s=${s//\"/\\\"}
	s=${s//$'\n'/\\n}
	s=${s//$'\t'/\\t}
	printf '"%s"' "${s//[[:cntrl:]]/?}"
}

# respond STATUS BODY [HEADER]: send a body, which is already JSON if the client asked for JSON.
respond() {
	local type='text/plain; charset=utf-8'
	! wants_json || type=application/json
	printf 'Status: %s\r\nContent-Type: %s\r\n%s\r\n%s\n' "$1" "$type" \
		"${3:+$3$'\r\n'}" "$2"
	exit 0
}

# json_error STATUS TEXT [MEMBERS]
json_error() {
	printf '{"error": %s, "status": %s, "path": %s%s}' "$(json_string "$2")" "${1%% *}" \
		"$(json_string "$path")" "${3-}"
}

# answer STATUS TEXT: send an error, or a text for people.
answer() {
	[ "${1%% *}" -lt 400 ] || ! wants_json || respond "$1" "$(json_error "$1" "$2")"
	HTTP_ACCEPT='' respond "$1" "$2"
}

# created PATH
created() {
	local body=$1
	! wants_json || body="{\"path\": $(json_string "$1")}"
	respond '201 Created' "$body" "Location: $(address_of "$1")"
}

no_content() {
	printf 'Status: 204 No Content\r\n\r\n'
	exit 0
}

# status_of TEXT OTHERWISE: the HTTP status for an error message of a program.
status_of() {
	case $1 in
	*'No space left on device'* | *'Disk quota exceeded'*) echo '507 Insufficient Storage' ;;
	*'Read-only file system'* | *'Permission denied'*) echo '403 Forbidden' ;;
	*'File name too long'*) echo '414 URI Too Long' ;;
	*'No such file'* | *'Not a directory'* | *'Is a directory'*) echo '409 Conflict' ;;
	*'Input/output error'*) echo '500 Internal Server Error' ;;
	*) echo "$2" ;;
	esac
}

# reason PATH: the last message on that file in the mount's log.
reason() {
	local line
	line=$(grep -aF " ${1#/}: " "$mount/.log" | tail -n 1)
	line=${line#* * }
	echo "${line:-${1#/}: refused}"
}

# path_of ADDRESS: the path in the mount of an address.
path_of() {
	local path=${1%%\?*}
	path=${path#*://*/}
	path=${path#/}
	path=${path//\\/\\\\}
	printf %b "${path//%/\\x}"
}

# address_of PATH: the address of a path in the mount.
address_of() {
	local i c address=
	for ((i = 0; i < ${#1}; i++)); do
		c=${1:i:1}
		case $c in
		[A-Za-z0-9/._~-]) ;;
		*) printf -v c '%%%02X' "$(($(printf %d "'$c") & 255))" ;;
		esac
		address+=$c
	done
	echo "$address"
}

# Refuse requests from pages of other sites: a browser sends simple requests without asking this
# server first, and adds the password that it knows.
same_origin() {
	[ -z "${HTTP_ORIGIN-}" ] || [ "${HTTP_ORIGIN#*://}" = "${HTTP_HOST-}" ] ||
		answer '403 Forbidden' 'Pages of other sites can change nothing here.'
}

# Is the client's TCP connection open in both directions? Unknown for connections by --socket.
is_connected() {
	local row
	[ "$REMOTE_PORT" != 0 ] || return 0
	printf -v row ':%04X [0-9A-F]*:%04X 01 ' "$SERVER_PORT" "$REMOTE_PORT"
	[ ! -r /proc/net/tcp ] || grep -qs "$row" /proc/net/tcp /proc/net/tcp6
}

# Has the client hung up? /proc/net/tcp may skip a row while others change, so look twice.
has_hung_up() {
	local try
	for try in 1 2 3; do
		! is_connected || return 1
		[ "$try" = 3 ] || sleep 0.1
	done
}
