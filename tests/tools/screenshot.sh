#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# screenshot.sh URL FILE.png [WIDTHxHEIGHT [light|dark]] - a screenshot of a page of organ-serve in
# headless Chromium, once all is loaded and measured. Defaults: 1280x900 and light. HEIGHT may be
# "all".
set -eu
size=${3:-1280x900}
exec "${0%/*}/browse.py" about:blank "media: ${4:-light}" "size: ${size%x*}x900" "$1" \
	'wait: document.body?.dataset.state === "loaded"' \
	'wait: [...document.querySelectorAll(".picture")].every((p) => p.querySelector("img"))' \
	"size: $size" "picture: $2"
