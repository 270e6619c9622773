# Forks: the child goes on with the host, and the parent guards it. The guard adopts orphans of the host, where the
# system can do that, so nothing escapes from it by forking twice. When the host ends, or the pipe to the program is
# closed, the guard ends all that the host has started, and then itself as the host did.
import os, select, signal, sys

def _prctl(option, value):
    try:
        import ctypes
        return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0
    except (ImportError, OSError, AttributeError):
        return False

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36

class _Guard:
    def __init__(self, adopts):
        self.adopts, self.own = adopts, os.getpid()
        self.status = None  # of the host, when it has ended
        self.alive = True  # the program is
        self.moment = b""  # the last line from the program is the moment before which daemons are spared
        self.woken, self.wake = os.pipe()
        os.set_blocking(self.woken, False)
        os.set_blocking(self.wake, False)

    def watch(self, host):
        """Returns when the host has ended or the program has."""
        self.host = host
        for fd in (3, 4):  # the host and the program see the end of each other
            os.close(fd)
        os.set_blocking(5, False)
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self.terminate)
        signal.signal(signal.SIGUSR1, lambda *_: self.status is None and os.kill(host, signal.SIGUSR1))
        while self.reap() and self.status is None and self.alive:
            self.sleep()

    def terminate(self, *_):
        self.alive = False

    def sleep(self, limit=None):
        """Waits for a signal or a message of the program."""
        poll = select.poll()
        poll.register(self.woken, select.POLLIN)
        if self.alive:
            poll.register(5, select.POLLIN)
        poll.poll(limit)
        self.read(self.woken)
        self.listen()

    def read(self, fd):
        """Returns what can be read at present; b"" at the end; None: nothing."""
        try:
            return os.read(fd, 1 << 16)
        except BlockingIOError:
            return None

    def listen(self):
        while self.alive and (said := self.read(5)) is not None:
            self.alive = said != b""
            self.moment = (self.moment + said)[-200:]

    def reap(self):
        """Reaps children that have ended; False: there are no children."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self.host:
                    self.status = status
        except ChildProcessError:
            return False

    def end(self):
        """Kills the host and all that it has started, until the system says that no child is left."""
        self.listen()
        if not self.adopts and self.status is None:
            os.killpg(0, signal.SIGKILL)
        spared, beyond = self.spared(), set()  # beyond: of another user by now
        while self.reap():
            left = [pid for pid, started in self.children() if pid not in beyond and not spared(pid, started)]
            if not left and (beyond or self.moment):
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except PermissionError:
                    beyond.add(pid)
            self.sleep(10)

    def spared(self):
        """Returns what reports whether a child may stay: it is a daemon from before the moment."""
        lines = self.moment.split(b"\n")[:-1]
        hundredths, last = map(int, lines[-1].split()) if lines else (0, 0)
        def spares(pid, started):
            before = started < hundredths or started == hundredths and pid <= last
            return before and os.getpgid(pid) != self.own
        return spares

    def children(self):
        """Returns the children that have not ended, each with when it was started in hundredths of a second."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", "rb") as f:
                    state, parent, *rest = f.read().rpartition(b")")[2].split()
                if int(parent) == self.own and state not in b"ZX":
                    yield int(name), int(rest[17])
            except (OSError, ValueError):
                pass

    def leave(self):
        """Ends as the host has ended."""
        status = signal.SIGKILL if self.status is None else self.status
        if os.WIFSIGNALED(status):
            import resource
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            number = os.WTERMSIG(status)
            if number != signal.SIGKILL:
                signal.signal(number, signal.SIG_DFL)
            os.kill(self.own, number)
        os._exit(os.WEXITSTATUS(status))

def _guard():
    guard = _Guard(sys.platform == "linux" and _prctl(_PR_SET_CHILD_SUBREAPER, 1))
    host = os.fork()
    if host:
        try:
            guard.watch(host)
            guard.end()
            guard.leave()
        finally:
            os._exit(1)
    os.close(5)
    os.close(guard.woken)
    os.close(guard.wake)
    if guard.adopts:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard.own:
            os._exit(1)

_guard()
