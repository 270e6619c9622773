import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Annotated, Any

from inmanta.compiler import finalizer
from inmanta.execute.proxy import DynamicProxy
from inmanta.plugins import Context, ModelType, deprecated, plugin

type Host = Annotated[DynamicProxy, ModelType["shop::Host"]]


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    label: str | None


@plugin
def add(a: "int", b: int = 2) -> "int":
    return a + b


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
    from inmanta.execute.util import Unknown
    return not isinstance(v, Unknown)


@plugin
def point(x: int) -> Point:
    return Point(x, f"p{x}")


@plugin
def double(p: Point) -> int:
    return p.x * 2


@plugin
def said() -> str:
    sys.stdout.flush()
    subprocess.run(["echo", "from a program"])
    os.write(1, b"raw\n")
    print("in order", end="")
    return "x"


@finalizer
def done() -> None:
    print("never shown")


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
