import ctypes
import dataclasses
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Annotated, Any

from inmanta.compiler import finalizer
from inmanta.execute.util import Unknown
from inmanta.execute.proxy import DynamicProxy
from inmanta.export import dependency_manager
from inmanta.plugins import Context, ModelType, deprecated, plugin
from inmanta.references import Reference, reference
from inmanta.resources import (
    DiscoveryResource,
    IgnoreResourceException,
    ManagedResource,
    PurgeableResource,
    Resource,
    resource,
)

type Host = Annotated[DynamicProxy, ModelType["shop::Host"]]


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    label: str | None


@plugin
def add(a: "int", b: int = 2) -> "int":
    return a + b


@plugin
def adder(n: int) -> "any":
    return lambda v: v + n


@plugin
def applied(f: "any", v: int) -> int:
    return f(v)


@plugin("is_even")
def even(a: "int") -> "bool":
    return a % 2 == 0


@plugin
def labels(h: Host) -> "string[]":
    print("labels of", h.name, h.note)
    return sorted(p.label for p in h.parts)


@plugin
def same(a: "shop::Host", b: "shop::Host[]") -> list[Annotated[Any, ModelType["shop::Host"]]]:
    assert a == b[0] and a in b and hash(a) == hash(b[0]) and a.parts is not None
    assert not hasattr(a, "other") and a._type().get_full_name() == "shop::Host"
    try:
        a.name = "x"
    except Exception as e:
        print(e)
    return [h for h in b if h == a]


@plugin
def many(*args: str, sep: str = ",", **kw: int) -> str:
    return sep.join(args) + str(dict(kw))


@plugin
def values(x: int | None, y: Sequence[str] | str = "d") -> dict[str, Any]:
    return {"x": x, "y": y if isinstance(y, str) else list(y), "f": 1.5, "n": None, "t": (1, 2), "big": 10**30}


@deprecated(replaced_by="shop::add")
@plugin
def where(ctx: Context, v: "any") -> "any":
    assert ctx.get_type("shop::Host").get_attribute("parts").end.name == "host"
    return f"{ctx.owner.namespace.get_full_name()}:{ctx.owner.location.lnr} {v}"


@plugin(allow_unknown=True)
def known(v: "any") -> bool:
    return not isinstance(v, Unknown)


@plugin
def point(x: int) -> Point:
    return Point(x, f"p{x}")


@plugin
def shown(x: Any) -> list[str]:
    return [repr(x), f"{x}", str(x == [1, None]), str(list(x) == [1, None]), str(x[1] is None)]


@plugin
def half(x: int) -> Any:
    return ["\ud83d", {"a\ude00": 1}, "\ud83d\ude00"][x]


@plugin
def double(p: Point) -> int:
    return p.x * 2


@reference("shop::LaterPoint")
class LaterPoint(Reference[Point]):
    def __init__(self, x: int) -> None:
        super().__init__()
        self.x = x

    def resolve(self, logger) -> Point:
        return Point(self.x, "later")


@plugin
def later(x: int) -> LaterPoint:
    return LaterPoint(x)


@plugin
def kinds(points: Sequence[Point | Reference[Point]], text: "shop::Point", proxy: Any) -> list[str]:
    return [type(p).__name__ for p in [*points, text, proxy]]


@plugin
def daemon(path: str) -> None:
    """It answers what it is asked over a socket, and has left all that would tell whose it is."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            while asked := s.recv(1):
                s.send(asked)
        os._exit(0)
    os.wait()


@plugin
def stranger(path: str) -> None:
    """It starts such a daemon with an empty environment."""
    program = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        "while asked := s.recv(1): s.send(asked)"
    )
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve(sys.executable, [sys.executable, "-IS", "-c", program, path], {})
        os._exit(0)
    os.wait()


@plugin
def chain(path: str) -> None:
    """It starts processes without end: each starts the next one, which leaves it. All hold the socket open."""
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    while True:
        if os.fork() == 0:
            os.setsid()
            while os.fork() == 0:
                pass
            os._exit(0)
        os.wait()
        return


@plugin
def segfault() -> None:
    ctypes.string_at(0)


@plugin
def brood(bytes: int) -> None:
    for _ in range(4):
        if os.fork() == 0:
            held = b"x" * bytes
            time.sleep(600)
            os._exit(0)
    time.sleep(600)


@plugin
def leak(bytes: int) -> None:
    held = []
    while True:
        held.append(b"x" * bytes)
        time.sleep(0.01)


@plugin
def said() -> str:
    sys.stdout.flush()
    subprocess.run(["echo", "from a program"])
    os.write(1, b"raw\n")
    print("in order", end="")
    return "x"


@finalizer
def done() -> None:
    print("finalized")


@plugin
def fail(x: str) -> str:
    return helper(x)


def helper(x):
    raise ValueError("no " + x)


@plugin
def generator() -> "any":
    yield 1


@plugin
def thing() -> "any":
    return object()


@plugin
def circle() -> "any":
    out = []
    out.append(out)
    return out


@plugin
def ring() -> "any":
    inner = [1, {}]
    inner[1]["of"] = inner[1]
    return {"same": [inner[0], inner[0]], "in": inner}


@plugin
def deep() -> "any":
    out = []
    for _ in range(300):
        out = [out]
    return out


@plugin
def endless() -> "any":
    return endless()


@plugin
def keys() -> dict:
    return {1: "a"}


@plugin
def huge() -> str:
    return "x" * 100_000_000


@plugin
def leave(code: int) -> str:
    sys.exit(code)


@plugin
def crash(code: int) -> str:
    sys.stderr.write("about to end\n")
    sys.stderr.flush()
    os._exit(code)


@plugin
def fork() -> str:
    if os.fork() == 0:
        return "child"
    os.wait()
    return "parent"


@plugin
def hang() -> str:
    while True:
        time.sleep(1)


@resource("shop::Shelf", agent="host.name", id_attribute="label")
class Shelf(PurgeableResource, ManagedResource):
    fields = ("label", "size", "goods", "more", "text", "seen")
    map = {"more": lambda _, shelf: {"twice": shelf.size * 2, "host": shelf.host.name}}

    @staticmethod
    def get_goods(exporter, shelf):
        if shelf.label == "broken":
            raise KeyError(shelf.label)
        if shelf.label == "half":
            return ["\ud83d"]
        return [g.label for g in sorted(shelf.goods, key=lambda g: g.label)]

    @staticmethod
    def get_text(exporter, shelf):
        if shelf.label == "ignored":
            raise IgnoreResourceException()
        return exporter.upload_file("text of " + shelf.label)


@resource("shop::Scan", agent="host.name", id_attribute="label")
class Scan(DiscoveryResource):
    fields = ("label",)


@dependency_manager
def order(model, resources):
    first = next((r for r in resources.values() if r.id.attribute_value == "first"), None)
    for r in resources.values():
        if r is not first and first is not None and r.id.entity_type == "shop::Shelf":
            r.requires.add(first)
