#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# timeout: 300
# Run group.sh on XFS.
TYPE=xfs . "${0%/*}/group.sh"
