# SPDX-License-Identifier: MIT
"""rows.py - the measurements of `make bench`, a function for each group of rows.

A group takes the bench, and passes samples to bench.add(row, unit, way, value). In each round it
measures one way after another, so that a disturbance of the machine affects all of them. If the
"native" operation is another one than the row's, the row's name has it in brackets.
"""
import glob
import json
import os
import shutil
import socket
import subprocess
import time

import ways

GIB = 1 << 30
SPEED, TIME, MEMORY = "GB/s", "ms", "MiB"


def milliseconds(begin):
    return (time.perf_counter() - begin) * 1e3


def access(way, what, *paths):
    """Milliseconds, bytes and context switches of the reader and the daemon."""
    before = way.switches()
    used, size, switches = map(int, way.run([way.access, what, *paths]).split())
    return used / 1e3, size, switches + way.switches() - before


def timed(way, command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   **way.identity())
    return milliseconds(begin)


def cached(*paths):
    """MiB of these files in the page cache, or None without fincore."""
    try:
        said = subprocess.run(["fincore", "-b", "-J", "-o", "RES", *paths], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        return sum(int(row["res"]) for row in json.loads(said)["fincore"]) / (1 << 20)
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError):
        return None


def organs(directory):
    return sorted(glob.glob(f"{glob.escape(directory)}/*/*.bin"))


def reads(bench):
    """One GiB read by different accesses: the first read in a new mount, and the second."""
    large = bench.large()
    names = [path[len(large) + 1:] for path in organs(large)]
    for way in bench.rounds():
        if way.name == "squashfuse_ll":
            bench.warm(way.image(large))
        bench.warm(f"{large}/model.gguf", *organs(large))
        for what, row, files in (("read", "model.gguf", ["model.gguf"]), ("read", "organs", names),
                                 ("map", "model.gguf, mapped", ["model.gguf"]),
                                 ("four", "model.gguf, four readers", ["model.gguf"]),
                                 ("random", "16 KiB at random", ["model.gguf"])):
            top = way.mount(large)
            paths = [f"{top}/{name}" for name in files]
            for which in "first", "again":
                used, size, switches = access(way, what, *paths)
                bench.add(f"{row}, {which}", SPEED, way, size / used / 1e6)
                if (what, which) == ("read", "first"):
                    bench.add(f"context switches a GiB, {row}", "", way, switches * GIB / size)
            if row == "organs" and way.process:
                bench.add("memory of the daemon after that", MEMORY, way,
                          way.status("VmRSS") / 1024)
            way.unmount()


def cold(bench):
    """First read of a base: does the page cache then hold its pages once or twice?"""
    large = bench.large()
    for way in bench.rounds():
        base = way.image(large) if way.name == "squashfuse_ll" else f"{large}/model.gguf"
        os.sync()
        bench.native.run([bench.native.access, "drop", base])
        path = f"{way.mount(large)}/model.gguf"
        used, size, _ = access(way, "read", path)
        bench.add("model.gguf, not in memory", SPEED, way, size / used / 1e6)
        # Root cannot access another user's mount.
        files = {base, path}
        if way.name == "organfs" and os.getxattr(path, "user.organfs.read") == b"passthrough":
            files = {base}  # the mount's pages are this file's
        resident = cached(*files) if way.user is None else None
        if resident is not None:
            bench.add("page cache after that, file and mount", MEMORY, way, resident)
        way.unmount()


def metadata(bench):
    """Listing and look-ups in a tree of 2,000 tensors."""
    small = bench.small()
    for way in bench.rounds():
        directory = way.mount(small)
        commands = (("ls -lR of 2,000 tensors", ["ls", "-lR", directory]),
                    ("du of them", ["du", "-s", directory]),
                    ("find -newer of them", ["find", directory, "-newer", bench.reference]))
        for which in "first", "again":
            for what, command in commands:
                bench.add(f"{what}, {which}", TIME, way, timed(way, command))
        way.unmount()
        if way.name in ("native", "organfs"):
            directory = way.mount(small, "rw,noassemble")
            timed(way, ["ls", "-lR", directory])
            bench.add("ls -lR, writable, again", TIME, way, timed(way, ["ls", "-lR", directory]))
            way.unmount()


def grafts(bench):
    """Time until files of 8 KiB are durable, and until their removal is, by one thread and by
    four, on a new ext4 of default format if a disk can be mounted. Without a journal ext4 searches
    for an inode that was not freed lately, which takes long after many removals."""
    small, donors = bench.small(), bench.donors()
    ups, downs = (sorted(glob.glob(f"{donors}/*_{role}.bin")) for role in ("up", "down"))
    disk = bench.disk("ext4") or bench.disk("here")
    kind = bench.kind_of(disk)
    for way in bench.rounds():
        if not way.writable or way.name == "its daemon":
            continue
        ours = isinstance(way, ways.Organfs)
        home = bench.directory(f"{disk}/{way.name.replace(' ', '-')}", way.user)
        layer = f"{home}/layer"
        target = bench.directory(f"{home}/target/organs", way.user)
        top = way.mount(small if ours else os.path.dirname(target), f"layer={layer},noassemble")
        place = f"{top}/organs"
        copy = (lambda files: ["cp", *files, place]) if ours else \
            (lambda files: [way.access, "keep", place, *files])
        bench.add(f"{len(ups)} grafts by one cp, {kind} (kept durably)", TIME, way,
                  timed(way, copy(ups)))
        begin = time.perf_counter()
        parts = [copy(downs[i::4]) for i in range(4)]
        writers = [subprocess.Popen(part, stdout=subprocess.DEVNULL, **way.identity())
                   for part in parts]
        for writer in writers:
            if writer.wait():
                raise RuntimeError(f"{way.name}: a writer failed")
        bench.add(f"{len(downs)} grafts by four cp, {kind}", TIME, way, milliseconds(begin))
        files = [f"{place}/{os.path.basename(path)}" for path in ups]
        remove = ["rm", *files] if ours else [way.access, "remove", *files]
        bench.add(f"rm of {len(ups)} grafted organs, {kind} (durably)", TIME, way,
                  timed(way, remove))
        way.unmount()
        shutil.rmtree(home)
    for kind in "ext4", "here":
        bench.forget(kind)


def mounts(bench):
    """Time from the command to the ready mount."""
    models = [("mount, 1 file (its head read)", bench.large(), 1)]
    models += [(f"mount, {n} shards (their heads read)", bench.shards(n), n) for n in (100, 1000)]
    models += [("mount, vocabulary of 160,000 (its head read)", bench.vocabulary(), 1)]
    for way in bench.rounds():
        for row, directory, n in models:
            shards = sorted(glob.glob(f"{directory}/*.gguf"))[:n]
            if way is bench.native:
                if n == 1:
                    value = timed(way, ["head", "-c", str(bench.head(shards[0])), shards[0]])
                else:
                    value = access(way, "heads", *shards)[0]
                bench.add(row, TIME, way, value)
            elif way.name in ("organfs", "for a user") or "1 file" in row:
                command = way.command(directory, "")
                if isinstance(way, ways.Organfs):
                    command[-2] = shards[0]
                begin = time.perf_counter()
                way.start(command)
                bench.add(row, TIME, way, milliseconds(begin))
                way.unmount()


def assembly(bench):
    """Assembly of a model with one grafted block, on several filesystems."""
    for kind in "here", "xfs", "btrfs":
        where = bench.disk(kind)
        if where is None:
            continue
        base = bench.directory(f"{where}/base") + "/model.gguf"
        shutil.copy(f"{bench.large()}/model.gguf", base)
        share = "always" if kind in ("xfs", "btrfs") else "auto"
        row = f"assembly, {bench.kind_of(where)} (cp --reflink={share}, sync)"
        for way in bench.rounds():
            if way.name not in ("native", "organfs"):
                continue
            out = f"{where}/out.gguf"
            if way is bench.native:
                command = f'cp --reflink={share} "$1" "$2" && sync "$2"'
            else:
                top = way.mount(f"{where}/base", f"layer={where}/layer")
                pair = [f"{top}/organs/blk_{i}_ffn_up.bin" for i in (0, 1)]
                shutil.copy(pair[0], f"{where}/organ")
                shutil.copy(f"{where}/organ", pair[1])
                os.sync()
                command = f'echo "$2" >"{top}/.assemble"'
            bench.add(row, TIME, way, timed(way, ["sh", "-c", command, "sh", base, out]))
            way.unmount()
            shutil.rmtree(f"{where}/layer", ignore_errors=True)
            os.unlink(out)
            os.sync()
        bench.forget(kind)


def theta(bench):
    """θ of a model with the shapes of Qwen2.5-7B in Q4_K_M, and hashes of the large model."""
    large, qwen = bench.large(), bench.qwen()
    for way in bench.rounds():
        if way.name not in ("native", "organfs", "its daemon"):
            continue
        if way is bench.native:
            used = float(way.run([bench.spans, f"{qwen}/model.gguf"]).split()[0]) / 1e3
            hashes = timed(way, ["xxhsum", "-q", "-H2", *organs(large)])
            bench.add("checksums.xxh128 (xxhsum of the organs)", TIME, way, hashes)
            hashes = timed(way, ["xxhsum", "-q", "-H1", f"{large}/model.gguf"])
            bench.add("gguf-hash.xxh64 (xxhsum of the file)", TIME, way, hashes)
        else:
            top = way.mount(qwen)
            used = timed(way, ["sh", "-c", 'cat "$1"/*/.theta', "sh", top])
            way.unmount()
            for name, row in (("checksums.xxh128", "checksums.xxh128 (xxhsum of the organs)"),
                              (".views/gguf-hash.xxh64", "gguf-hash.xxh64 (xxhsum of the file)")):
                top = way.mount(large)
                bench.add(row, TIME, way, timed(way, ["cat", f"{top}/{name}"]))
                way.unmount()
        bench.add("θ of 339 tensors, 4.7 GB (those bytes read)", TIME, way, used)


def remote(bench):
    """A model on a web server of this machine, with no cached copy."""
    if not shutil.which("lighttpd") or not shutil.which("curl"):
        bench.say("over HTTP: skipped: apt install lighttpd curl")
        return
    large = bench.large()
    url, sent = bench.serve(large)
    native, organfs, rclone = (bench.ways.get(name) for name in ("native", "organfs", "rclone"))
    for way in bench.rounds():
        begin = sent()
        if way is native:
            used = timed(way, ["curl", "-s", "-o", "/dev/null", f"{url}/model.gguf"])
            bench.add("over HTTP: model.gguf, first (curl)", TIME, way, used)
        elif way in (organfs, rclone):
            def mount(of=way):
                shutil.rmtree(f"{bench.work}/cache", ignore_errors=True)
                return of.mount(f"{url}/model.gguf" if of is organfs else url)
            used = access(way, "read", f"{mount()}/model.gguf")[0]
            bench.add("over HTTP: model.gguf, first (curl)", TIME, way, used)
            way.unmount()
            row = "over HTTP: mounted, θ of all"
            if way is rclone and way.name in bench.samples.get(row, {}):
                continue  # one run takes minutes
            begin, second = sent(), None
            clock = time.perf_counter()
            top = mount()
            if way is rclone:
                second = bench.beside(organfs)
                second.start([f"{bench.work}/organfs", "-f", "-o", "ro", f"{top}/model.gguf",
                              second.point])
                top = second.point
            timed(way, ["sh", "-c", 'cat "$1"/*/.theta', "sh", top])
            bench.add(row, TIME, way, milliseconds(clock))
            for mount_of in filter(None, (second, way)):
                mount_of.unmount()
            bench.add("over HTTP: sent for that", MEMORY, way, (sent() - begin) / (1 << 20))


def ports():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


GROUPS = {group.__name__: group for group in
          (reads, cold, metadata, mounts, assembly, theta, remote, grafts)}
