package source

import "strings"

// valueProblems are the problems of values that are not literal.
func valueProblems() []badCase {
	return []badCase{
		{"file that does not exist", "relative to the document", head +
			"  - {type: fs::File, attributes: {path: /x, content: {file: gone}}}\n", []string{
			`4:61 | fs::File[a,path=/x] | content | the file gone does not exist | the path is relative to the document`,
		}},
		{"file outside", "an export reads nothing else",
			head + "  - type: fs::File\n    attributes: {path: /x, content: {file: ../x}}\n  - " +
				"type: fs::File\n    attributes: {path: /y, content: {file: /etc/hostname}}\n  - " +
				"type: fs::File\n    attributes: {path: /z, content: {file: sub/../../x}}\n",
			[]string{
				`5:44 | fs::File[a,path=/x] | content | the file ../x is outside of $DIR | the path is relative to the document, and stays in the directory that is exported`,
				`7:44 | fs::File[a,path=/y] | content | the file /etc/hostname is outside of $DIR | the path is relative to the document, and stays in the directory that is exported`,
				`9:44 | fs::File[a,path=/z] | content | the file sub/../../x is outside of $DIR | the path is relative to the document, and stays in the directory that is exported`,
			}},
		{"file that is a directory", "it has no bytes",
			head + "  - {type: fs::File, attributes: {path: /x, content: {file: .}}}\n", []string{
				`4:61 | fs::File[a,path=/x] | content | the file . cannot be read: it is not a regular file | it must be a regular file that can be read`,
			}},
		{"forms without a name", "each needs one",
			head + "  - type: std::Null\n    attributes:\n      name: x\n" +
				"      a: [{file: }, {secret: 7}, {parameter: \"\"}, {fact: [x], of: 7}, {fact: f, " +
				"of: std::Null}]\n", []string{
				`7:18 | std::Null[a,name=x] | a | file refers to something and needs its name | {value: ...} holds a map that only looks like a reference`,
				`7:30 | std::Null[a,name=x] | a | secret refers to something and needs its name | {value: ...} holds a map that only looks like a reference`,
				`7:46 | std::Null[a,name=x] | a | parameter refers to something and needs its name | {value: ...} holds a map that only looks like a reference`,
				`7:58 | std::Null[a,name=x] | a | fact refers to something and needs its name | {value: ...} holds a map that only looks like a reference`,
				`7:67 | std::Null[a,name=x] | a | of is the id of a resource | write it such as fs::File[web1,path=/etc/motd]`,
				`7:85 | std::Null[a,name=x] | a | of is the id of a resource, and "std::Null": expected [ and an agent behind the type at character 10 | an id looks like fs::File[web1,path=/etc/motd]; , = ] and \ in a value have a \ before them`,
			}},
		{"secret of no known source", "it may be the secret itself, so it is not shown",
			head + "  - {type: std::Null, attributes: {name: x, a: {secret: hunter2}, b: " +
				"{secret: \"env:\"}}}\n  - {type: std::Null, attributes: {name: y, a: {secret: " +
				"\"vault:x\"}, b: {secret: \"env:A\", version: [1]}}}\n", []string{
				`4:57 | std::Null[a,name=x] | a | this is not a source of a secret | write env:NAME, file:PATH, sops:FILE#KEY, vault:PATH#FIELD, command:PROGRAM ARGUMENT, output:ID#PATH, ssm:/name or secretsmanager:id`,
				`4:79 | std::Null[a,name=x] | b | this is not a source of a secret | write env:NAME, file:PATH, sops:FILE#KEY, vault:PATH#FIELD, command:PROGRAM ARGUMENT, output:ID#PATH, ssm:/name or secretsmanager:id`,
				`5:57 | std::Null[a,name=y] | a | this is not a source of a secret | write vault:PATH#FIELD, as in vault:secret/shop/db#password, with the path that ` + "`vault kv get` or `vault read`" + ` takes`,
				`5:99 | std::Null[a,name=y] | b | the version of a secret is text or a whole number | write the version as the store of the secret names it, or leave it out`,
			}},
		{"secret output that is none", "an id, a path, and the present value",
			head + "  - {type: std::Null, attributes: {name: x, a: {secret: \"output:std::Null#p\"}}}\n" +
				"  - {type: std::Null, attributes: {name: y}}\n" +
				"  - {type: std::Null, attributes: {name: z, a: {secret: \"output:std::Null[name=y]#a~b\"}}}\n",
			[]string{
				`4:57 | std::Null[a,name=x] | a | this is not a source of a secret | write output:ID#PATH, as in output:sql::Role[db,name=app]#password, with the id of a resource and the path to one of its secret outputs`,
				`6:57 | std::Null[a,name=z] | a | this is not a source of a secret | write "~" as "~0", and "/" in a name as "~1"`,
			}},
		{"secret output with a version", "a document names no version of one",
			head + "  - {type: std::Null, attributes: {name: x, a: {secret: \"output:std::Null[name=y]#p\", version: 1}}}\n  - {type: std::Null, attributes: {name: y}}\n",
			[]string{
				`4:96 | std::Null[a,name=x] | a | a secret output has its present value, in no version that a document can name | leave the version out`,
			}},
		{"names a resource with a reference", "an id must be known",
			head + "  - {type: std::Null, attributes: {name: {parameter: p}}}\n" +
				"  - {type: fs::File, attributes: {path: {secret: \"env:A\"}}}\n", []string{
				`4:42 |  | name | the attribute names the resource: expected a String of at least 1 character, got a reference | write the value itself`,
				`5:41 |  | path | the attribute names the resource, and names are stored and shown: expected a String of at least 1 character, got a secret | write the value itself`,
			}},
		{"names a resource with a text of parts", "names are stored and shown",
			head + "  - {type: std::Null, attributes: {name: {text: [a, {parameter: p}]}}}\n" +
				"  - {type: std::Null, attributes: {name: {text: [a, {text: [{secret: \"env:A\"}]}]}}}\n",
			[]string{
				`4:42 |  | name | the attribute names the resource: expected a String of at least 1 character, got a reference | write the value itself`,
				`5:42 |  | name | the attribute names the resource, and names are stored and shown: expected a String of at least 1 character, got a secret | write the value itself`,
			}},
		{"secrets in names", "what they stand for is stored and shown",
			head + "  - type: std::Null\n    agent: {secret: \"env:A\"}\n" +
				"    set: {text: [s, {secret: \"env:A\"}]}\n" +
				"    requires: [{text: [\"std::Null[a,name=\", {secret: \"env:A\"}, \"]\"]}]\n" +
				"    attributes: {name: x, a: {fact: f, of: {secret: \"env:A\"}}}\n",
			[]string{
				`5:12 |  |  | agent is stored and shown, so it takes no secret | write the text itself`,
				`6:21 |  |  | set is stored and shown, so it takes no secret | write the text itself`,
				`7:45 |  |  | a requirement is stored and shown, so it takes no secret | write the text itself`,
				`8:44 |  | a | of is stored and shown, so it takes no secret | write the text itself`,
			}},
		{"parts that are no texts", "a text has texts and references to them",
			head + "  - type: std::Null\n    attributes:\n      name: x\n" +
				"      a: {text: [a, 7, [b], {file: gone}, {a: b}, {parameter: 7}]}\n", []string{
				`7:21 | std::Null[a,name=x] | a | a part of a text is a text or a reference to one | put it in quotes`,
				`7:24 | std::Null[a,name=x] | a | a part of a text is a text or a reference to one | write texts, and the forms of secrets, parameters and facts`,
				`7:29 | std::Null[a,name=x] | a | a part of a text is a text or a reference to one | write texts, and the forms of secrets, parameters and facts`,
				`7:36 | std::Null[a,name=x] | a | the file gone does not exist | the path is relative to the document`,
				`7:43 | std::Null[a,name=x] | a | a part of a text is a text or a reference to one | write texts, and the forms of secrets, parameters and facts`,
				`7:63 | std::Null[a,name=x] | a | parameter refers to something and needs its name | {value: ...} holds a map that only looks like a reference`,
			}},
		{"a text that is too long", "the limit is named", head + "  - {type: std::Null, attributes: {name: x, a: {text: [a, " +
			strings.Repeat("x", 1<<20) + ", {parameter: p}]}}}\n", []string{
			`4:55 | std::Null[a,name=x] | a | the text has 1048577 bytes, and a text of parts has at most 1048576 | upload it as a file: {file: PATH}, or {file: PATH, with: {NAME: …}} with its parts`,
		}},
	}
}
