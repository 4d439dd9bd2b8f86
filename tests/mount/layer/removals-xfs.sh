#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# timeout: 200
# Run removals.sh on XFS, which writes nothing for an unchanged file or directory.
DISK=xfs
. "${0%/*}/removals.sh"
