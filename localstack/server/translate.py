"""Writes what SAM's transform makes of a template, as JSON."""

import json
import sys

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.transform import transform


class NoPolicies:
    """The transform asks for AWS's managed policies when a function has policies. None has."""

    def load(self):
        return {}


with open(sys.argv[1], encoding="utf-8") as file:
    template = yaml_parse(file.read())
# What a packaged template has. The local paths are of no use to the transform.
template.get("Globals", {}).get("Function", {}).pop("CodeUri", None)
for resource in template["Resources"].values():
    properties = resource.get("Properties", {})
    if resource["Type"] == "AWS::Serverless::Function":
        properties["CodeUri"] = "s3://bucket/code"
    if resource["Type"] == "AWS::Serverless::Application":
        properties["Location"] = "https://s3.amazonaws.com/bucket/template"
parameters = {name: p.get("Default", "none") for name, p in template.get("Parameters", {}).items()}
print(json.dumps(transform(template, parameters, NoPolicies())))
