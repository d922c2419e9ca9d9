"""Becomes the server: drops root, asks to be killed with its parent, and turns into the command it is given.

Run as a file by a Python of its own. The same as `preexec_fn` of a process that has threads could deadlock, and Python
warns about it.

    python -I -S local_exec.py UID:GID|- PARENT|- COMMAND ...
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(identity: str, parent: str, *command: str) -> None:
    if identity != "-":
        uid, gid = map(int, identity.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if parent != "-" and sys.platform == "linux":
        # After setuid, which would clear the request.
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):  # it died before we asked
            sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - no shell is what we want


if __name__ == "__main__":
    main(*sys.argv[1:])
