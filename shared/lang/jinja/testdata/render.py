"""Renders the templates of jinja2.json with Jinja2, and writes anew what came out.

    python -m venv /tmp/jinja2 && /tmp/jinja2/bin/pip install jinja2==3.1.6
    /tmp/jinja2/bin/python shared/lang/jinja/testdata/render.py

A new case is an object with a template alone in "cases"; run this to fill in the rest. Output
that holds the address of an object cannot be compared: such a case is dropped.
"""
import copy
import json
import pathlib
import re

import jinja2

PATH = pathlib.Path(__file__).with_name("jinja2.json")


def line_of(error, names):
    """The innermost line of a template in the traceback of an error."""
    line, at = None, error.__traceback__
    while at:
        if at.tb_frame.f_code.co_filename in names:
            line = at.tb_lineno
        at = at.tb_next
    return line


def render(env, template, context, names):
    case = {"template": template}
    try:
        case["output"] = env.from_string(template).render(copy.deepcopy(context))
    except jinja2.TemplateSyntaxError as error:
        case.update(error="syntax", line=error.lineno, message=error.message)
    except Exception as error:
        case.update(error=type(error).__name__, line=line_of(error, names))
        case["message"] = re.sub("0x[0-9a-f]+", "0x", str(error))
    return case


def main():
    corpus = json.loads(PATH.read_text())
    names = {"<template>", *corpus["templates"]}
    env = jinja2.Environment(
        undefined=jinja2.StrictUndefined, loader=jinja2.DictLoader(corpus["templates"])
    )
    cases = [render(env, c["template"], corpus["context"], names) for c in corpus["cases"]]
    corpus["cases"] = [c for c in cases if " at 0x" not in c.get("output", "")]
    PATH.write_text(json.dumps(corpus, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
