# SPDX-License-Identifier: MIT
"""ways.py - the ways to a file whose speeds are compared, each a column of the table of `make
bench`: the file itself, organfs in three forms, and similar filesystems of other projects.

A way shows a directory with the same names as the native one. end() unmounts it.
"""
import os
import shutil
import subprocess
import time

ORDINARY = 65534


def mounted(directory):
    with open("/proc/self/mountinfo", encoding="utf-8") as lines:
        return any(line.split()[4] == directory for line in lines)


class Way:
    """The native files: nothing is mounted."""
    name = "native"
    user = None          # number of the user who mounts and reads; None: the current user
    writable = True

    def __init__(self, work, access):
        self.work, self.access, self.process = work, access, None
        self.point = f"{work}/mnt"

    def missing(self):
        """Reason why this machine cannot use the way, or None."""
        return None

    def command(self, what, options):
        """The command that mounts the directory `what` in the foreground."""
        return None

    def environment(self):
        return dict(os.environ, XDG_STATE_HOME=f"{self.work}/state", HOME=f"{self.work}/home",
                    XDG_CACHE_HOME=f"{self.work}/cache", XDG_CONFIG_HOME=f"{self.work}/config")

    def run(self, command):
        return subprocess.run(command, check=True, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, **self.identity()).stdout

    def identity(self):
        """Environment, user and groups for a subprocess, as arguments of subprocess.run()."""
        identity = {"env": self.environment()}
        if self.user is not None:
            identity.update(user=self.user, group=self.user, extra_groups=[])
        return identity

    def start(self, command):
        """Mount in the foreground; return when the mount is ready."""
        if self.process or mounted(self.point):
            raise RuntimeError(f"{self.point} is mounted already")
        with open(f"{self.work}/said", "wb") as said:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said,
                                            stderr=said, **self.identity())
        for _ in range(6000):
            if mounted(self.point):
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.005)
        with open(f"{self.work}/said", encoding="utf-8", errors="replace") as said:
            raise RuntimeError(f"{' '.join(command)}: not mounted: {said.read()[-300:]}")

    def mount(self, what, options=""):
        """Mount, and return the directory with the names of `what`."""
        command = self.command(what, options)
        if command is None:
            return what
        self.start(command)
        return self.point

    def unmount(self):
        if self.process is None:
            return
        for _ in range(500):
            if subprocess.run(["fusermount3", "-q", "-u", self.point], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0:
                break
            time.sleep(0.02)
        else:
            raise RuntimeError(f"{self.point} stays busy")
        self.process.wait(60)
        self.process = None

    def end(self):
        """Unmount, also after a failure."""
        if self.process is not None:
            subprocess.run(["fusermount3", "-q", "-u", "-z", self.point], check=False,
                           stderr=subprocess.DEVNULL)
            self.process.kill()
            self.process.wait()
            self.process = None

    def status(self, key):
        """A figure of the daemon's /proc/PID/status in kB, or 0 without a daemon."""
        if self.process is None:
            return 0
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith(key + ":")), 0)

    def switches(self):
        """Context switches of the daemon's current threads, until now."""
        total = 0
        if self.process is None:
            return 0
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            try:
                with open(f"/proc/{self.process.pid}/task/{task}/status",
                          encoding="utf-8") as lines:
                    total += sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)
            except OSError:
                pass  # that thread has ended
        return total


class Organfs(Way):
    name = "organfs"
    options = ""

    def command(self, what, options):
        model = what if what.startswith("http") else f"{what}/model.gguf"
        wanted = ",".join(filter(None, (self.options, options or "ro")))
        return [f"{self.work}/organfs", "-f", "-o", wanted, model, self.point]


class OrganfsDaemon(Organfs):
    """Reads through the daemon, without the kernel's passthrough."""
    name = "its daemon"
    options = "passthrough=no,snapshot=no"


class OrganfsUser(Organfs):
    name = "for a user"
    user = ORDINARY

    def missing(self):
        if os.getuid() != 0:
            return "what runs this is a user"
        if os.path.exists(f"{self.work}/no-user"):
            return "/dev/fuse cannot be opened by an ordinary user"
        return None

    def environment(self):
        home = f"{self.work}/user"
        return dict(super().environment(), HOME=home, XDG_STATE_HOME=f"{home}/state",
                    XDG_CACHE_HOME=f"{home}/cache", XDG_CONFIG_HOME=f"{home}/config")


class Squashfuse(Way):
    name = "squashfuse_ll"
    writable = False

    def missing(self):
        return None if shutil.which("squashfuse_ll") and shutil.which("mksquashfs") else \
            "apt install squashfuse squashfs-tools"

    def image(self, what):
        """An uncompressed image, because the other ways do not compress."""
        if not os.path.exists(f"{what}.sqfs"):
            subprocess.run(["mksquashfs", what, f"{what}.sqfs", "-quiet", "-no-progress", "-noI",
                            "-noD", "-noF", "-noX"], check=True, stdout=subprocess.DEVNULL)
        return f"{what}.sqfs"

    def command(self, what, options):
        return ["squashfuse_ll", "-f", self.image(what), self.point]


class Bindfs(Way):
    name = "bindfs"

    def missing(self):
        return None if shutil.which("bindfs") else "apt install bindfs"

    def command(self, what, options):
        return ["bindfs", "-f", "--no-allow-other", what, self.point]


class Rclone(Way):
    """rclone, which shows only files on a web server."""
    name = "rclone"

    def missing(self):
        return None if shutil.which("rclone") and shutil.which("lighttpd") else \
            "apt install rclone lighttpd"

    def command(self, what, options):
        return ["rclone", "mount", "--read-only", "--http-url", what, ":http:", self.point]


WAYS = (Way, Organfs, OrganfsDaemon, OrganfsUser, Squashfuse, Bindfs, Rclone)
