"""Notes on disk, and handlers that go wrong in all ways."""
import os
import re
import subprocess

import pydantic

from inmanta.agent.handler import (
    CRUDHandler,
    DiscoveryHandler,
    ResourcePurged,
    SkipResource,
    cache,
    provider,
)
from inmanta.references import Reference, reference
from inmanta.plugins import plugin
from inmanta.resources import DiscoveryResource, PurgeableResource, resource


def program():
    """Returns the number of the process of southbound. Between is the guard of this process."""
    with open(f"/proc/{os.getppid()}/stat") as f:
        return int(f.read().rpartition(")")[2].split()[1])


def lurk():
    """Starts a process without a parent, in a session of its own and with an empty environment. It
    holds the FIFO alive open, and has it open when this function returns."""
    script = f"exec 3>alive; echo {program()} >&3; exec 9>&-; exec sleep 1000"
    opened, opening = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.dup2(opening, 9)
            os.execve("/bin/sh", ["sh", "-c", script], {})
        os._exit(0)
    os.close(opening)
    os.wait()
    os.read(opened, 1)  # ends when the process has closed its end
    os.close(opened)


@plugin
def lurks(then: str) -> int:
    lurk()
    if then == "stuck":
        re.match("(a+)+$", "a" * 64 + "b")
    return 1


@reference("disk::Word")
class Word(Reference[str]):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def resolve(self, logger) -> str:
        return os.environ[self.name]


@reference("disk::Entry")
class Entry(Reference[str]):
    def __init__(self, word: str | Reference[str]) -> None:
        super().__init__()
        self.word = word

    def resolve(self, logger) -> str:
        word = self.resolve_other(self.word, logger)
        logger.info("looking for %(word)s", word=word)
        print("really", word)
        raise ValueError("there is no entry for " + word)


@plugin
def entry(word: str | Reference[str]) -> Reference[str]:
    return Entry(word)


@plugin
def word(name: str) -> Reference[str]:
    return Word(name)


@resource("disk::Note", agent="host", id_attribute="path")
class Note(PurgeableResource):
    fields = ("path", "text", "how")


@resource("disk::Marked", agent="host", id_attribute="path")
class Marked(PurgeableResource):
    fields = ("path", "marked", "lines")

    @staticmethod
    def get_marked(_, note):
        return "* " + note.text


@resource("disk::Mapped", agent="host", id_attribute="path")
class Mapped(PurgeableResource):
    fields = ("path", "text")

    @classmethod
    def map_field(cls, exporter, entity_name, field_name, model_object, *more):
        value = super().map_field(exporter, entity_name, field_name, model_object, *more)
        return "* " + value if field_name == "text" and isinstance(value, str) else value


@resource("disk::Scan", agent="host", id_attribute="path")
class Scan(DiscoveryResource):
    fields = ("path",)


class Found(pydantic.BaseModel):
    size: int


@provider("disk::Scan", name="disk")
class ScanHandler(DiscoveryHandler[Scan, Found]):
    def discover_resources(self, ctx, resource):
        return {
            f"disk::Note[here,path={resource.path}/{name}]": Found(size=os.path.getsize(os.path.join(resource.path, name)))
            for name in sorted(os.listdir(resource.path))
        }


@provider("disk::Mapped", name="disk")
@provider("disk::Marked", name="disk")
@provider("disk::Note", name="disk")
class NoteHandler(CRUDHandler[Note]):
    made = 0

    def available(self, resource):
        return resource.how != "unavailable"

    @cache(evict_after_creation=600)
    def counted(self, name):
        NoteHandler.made += 1
        return NoteHandler.made

    def read_resource(self, ctx, resource):
        getattr(self, "how_" + (resource.how or "usual"))(ctx, resource)
        if not os.path.exists(resource.path):
            raise ResourcePurged()
        with open(resource.path) as f:
            resource.text = f.read()

    def how_usual(self, ctx, resource):
        ctx.set_fact("length", len(resource.text or ""))

    def how_throw(self, ctx, resource):
        self.broken(resource)

    def broken(self, resource):
        raise ValueError("no room for " + resource.path)

    def how_skip(self, ctx, resource):
        raise SkipResource("not today")

    def how_exit(self, ctx, resource):
        os.write(2, b"it was me\n")
        os._exit(3)

    def how_leave(self, ctx, resource):
        raise SystemExit(4)

    def how_fork(self, ctx, resource):
        if os.fork() == 0:
            ctx.info("from a child")
            raise ValueError("a child")
        os.wait()

    def how_print(self, ctx, resource):
        print("printed by Python")
        subprocess.run(["echo", "printed by a program"], check=True)

    def how_log(self, ctx, resource):
        for i in range(5000):
            ctx.info("line %(i)d", i=i, thing=object())
        ctx.error("a value of %(size)d bytes", size=10, value="x" * 100_000)

    def how_cache(self, ctx, resource):
        ctx.info("made %(made)d", made=self.counted("x"))

    def how_leak(self, ctx, resource):
        held = []
        while True:
            held.append(b"x" * (1 << 24))

    def how_forgets(self, ctx, resource):
        """ It does not say what it has done. """

    def how_idle(self, ctx, resource):
        resource.text = "as it ever was"

    def how_slow(self, ctx, resource):
        if os.path.exists(resource.path):
            return
        with open(resource.path, "w") as f:
            f.write("half")
        with open("alive", "w") as f:
            f.write(f"{program()}\n")
            f.flush()
            open("never").read()

    def how_stuck(self, ctx, resource):
        if os.path.exists(resource.path):
            return
        with open(resource.path, "w") as f:
            f.write("half")
        with open("alive", "w") as f:
            f.write(f"{program()}\n")
            f.flush()
            re.match("(a+)+$", "a" * 64 + "b")  # it keeps the interpreter to itself for ages

    def how_lurk(self, ctx, resource):
        if os.path.exists(resource.path):
            return
        with open(resource.path, "w") as f:
            f.write("half")
        lurk()
        open("never").read()

    def write(self, resource):
        with open(resource.path, "w") as f:
            f.write(resource.text)

    def create_resource(self, ctx, resource):
        ctx.info("writing %(path)s", path=resource.path, more={"n": 1})
        self.write(resource)
        if resource.how != "forgets":
            ctx.set_created()

    def update_resource(self, ctx, changes, resource):
        if resource.how == "idle":
            return
        self.write(resource)
        if resource.how != "forgets":
            ctx.set_updated()

    def delete_resource(self, ctx, resource):
        os.remove(resource.path)
        ctx.set_purged()

    def facts(self, ctx, resource):
        return {"size": os.path.getsize(resource.path)}

    def can_reload(self):
        return True

    def do_reload(self, ctx, resource):
        ctx.info("reloading")
