#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# timeout: 200
# The same on XFS, which writes nothing for a file or directory that was not changed.
DISK=xfs
. "${0%/*}/removals.sh"
