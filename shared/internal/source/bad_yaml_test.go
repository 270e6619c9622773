package source

import "strings"

// yamlProblems are the problems of pitfalls of YAML.
func yamlProblems() []badCase {
	return []badCase{
		{"duplicate names", "the last would win silently",
			head + "  - type: std::Null\n    attributes: {name: x, a: 1, b: 2, a: 3}\n    type: " +
				"std::Null\n", []string{
				`5:39 | std::Null[a,name=x] | a | "a" is there twice, first at 5:27 | remove one of the two`,
				`6:5 | std::Null[a,name=x] |  | "type" is there twice, first at 4:5 | remove one of the two`,
			}},
		{"duplicate names deep in a value", "they are the attribute's",
			head + "  - type: std::Null\n    attributes:\n      name: x\n      a: {k: {z: 1, z: " +
				"2}}\n      b: 1\n", []string{
				`7:21 | std::Null[a,name=x] | a | "z" is there twice, first at 7:15 | remove one of the two`,
			}},
		{"duplicate names in the document", "one of two lists of resources would be lost",
			head + "  - {type: std::Null, attributes: {name: x}}\nresources:\n" +
				"  - {type: std::Null, attributes: {name: y}}\n", []string{
				`5:1 |  |  | "resources" is there twice, first at 3:1 | remove one of the two`,
			}},
		{"duplicate names, one in quotes", "they are the same name",
			head + "  - {type: std::Null, attributes: {name: x, a: 1, \"a\": 2}}\n", []string{
				`4:51 | std::Null[a,name=x] | a | "a" is there twice, first at 4:45 | remove one of the two`,
			}},
		{"many members with a duplicate", "a map with many members is searched otherwise",
			head + "  - type: std::Null\n    attributes:\n      name: x\n" +
				"      a: {k0: 1, k1: 1, k2: 1, k3: 1, k4: 1, k5: 1, k6: 1, k7: 1, k8: 1, k9: 1, " +
				"k10: 1, k11: 1, k12: 1, k13: 1, k14: 1, k15: 1, k16: 1, k3: 2, k16: 3}\n",
			[]string{
				`7:137 | std::Null[a,name=x] | a | "k3" is there twice, first at 7:32 | remove one of the two`,
				`7:144 | std::Null[a,name=x] | a | "k16" is there twice, first at 7:129 | remove one of the two`,
			}},
		{"yes, no, on, off as flags", "text in YAML 1.2, booleans in 1.1", head +
			"  - type: std::Null\n    purged: yes\n    report_only: on\n    send_event: No\n    " +
			"managed: \"true\"\n    attributes: {name: x}\n", []string{
			`5:13 | std::Null[a,name=x] |  | purged is true or false | write true or false; yes, no, on and off are text in YAML 1.2`,
			`6:18 | std::Null[a,name=x] |  | report_only is true or false | write true or false; yes, no, on and off are text in YAML 1.2`,
			`7:17 | std::Null[a,name=x] |  | send_event is true or false | write true or false; yes, no, on and off are text in YAML 1.2`,
			`8:14 | std::Null[a,name=x] |  | managed is true or false | write true or false; yes, no, on and off are text in YAML 1.2`,
		}},
		{"yes for a Boolean", "the author means true",
			head + "  - {type: fs::File, attributes: {path: /x, backup: yes}}\n", []string{
				`4:53 | fs::File[a,path=/x] | backup | expected a Boolean, got the string "yes" | write it as a Boolean, without quotes: true`,
			}},
		{"octal mode", "0644 is the number 644, which is not a mode",
			head + "  - {type: fs::File, attributes: {path: /x, mode: 0644}}\n", []string{
				`4:51 | fs::File[a,path=/x] | mode | expected a String, got the integer 644 | write it in quotes, such as "0644", so that it is text`,
			}},
		{"octal number", "decimal in 1.2 and octal in 1.1: nobody can know",
			head + "  - {type: fs::File, attributes: {path: /x, size: 0644}}\n" +
				"  - {type: std::Null, attributes: {name: x, a: [1, {b: -012}]}}\n", []string{
				`4:51 | fs::File[a,path=/x] | size | an integer that starts with 0 is decimal in YAML 1.2 and octal in YAML 1.1 | write 644, or an octal number as 0o644, or put it in quotes if it is text`,
				`5:56 | std::Null[a,name=x] | a | an integer that starts with 0 is decimal in YAML 1.2 and octal in YAML 1.1 | write -12, or an octal number as 0o644, or put it in quotes if it is text`,
			}},
		{"float where text is wanted", "1e3 and 1.10 lose how they are written",
			head + "  - {type: fs::File, attributes: {path: /x, content: 1e3, mode: 1.10}}\n" +
				"  - {type: std::Null, attributes: {name: 1e3}}\n", []string{
				`4:54 | fs::File[a,path=/x] | content | expected a String, got the float 1000.0 | write it in quotes, such as "1.10", so that it is text`,
				`4:65 | fs::File[a,path=/x] | mode | expected a String, got the float 1.1 | write it in quotes, such as "1.10", so that it is text`,
				`5:42 | std::Null[a,name=1000] | name | expected a String of at least 1 character, got the float 1000.0 | write it in quotes, such as "1.10", so that it is text`,
			}},
		{"date where a number is wanted", "a date is text",
			head + "  - {type: fs::File, attributes: {path: /x, size: 2024-01-01}}\n", []string{
				"4:51 | fs::File[a,path=/x] | size | expected an Integer, got the string " +
					"\"2024-01-01\" | `southbound type fs::File` describes it",
			}},
		{"infinity and not-a-number", "JSON has neither",
			head + "  - {type: std::Null, attributes: {name: x, a: [.inf, -.INF, .nan], b: " +
				"1e999}}\n", []string{
				`4:49 | std::Null[a,name=x] | a | .inf: infinity is not a number that can be stored | put it in quotes if it is text`,
				`4:55 | std::Null[a,name=x] | a | -.INF: infinity is not a number that can be stored | put it in quotes if it is text`,
				`4:62 | std::Null[a,name=x] | a | .nan: not-a-number cannot be stored | put it in quotes if it is text`,
				`4:72 | std::Null[a,name=x] | b | 1e999: the number is too large | put it in quotes if it is text`,
			}},
		{"number that is too long", "reading it takes time that grows faster than its length",
			head + "  - {type: std::Null, attributes: {name: x, a: " + strings.Repeat("9", 1001) +
				"}}\n", []string{
				`4:48 | std::Null[a,name=x] | a | 999999999999999999999999999999999999999999999999999999999999…: the number is too long | put it in quotes if it is text`,
			}},
		{"unknown anchor", "most likely a glob",
			head + "  - {type: fs::File, attributes: {path: *.txt}}\n", []string{
				`4:41 |  |  | this is not valid YAML: unknown anchor '.txt' referenced | text that starts with * needs quotes`,
			}},
		{"alias within what it names", "it would have no end",
			head + "  - &r\n    type: std::Null\n    attributes: {name: x, a: *r}\n", []string{
				`6:30 | std::Null[a,name=x] | a | the alias *r is part of its own value | write the value out`,
			}},
		{"alias bomb", "few bytes that stand for many",
			head + "  - type: std::Null\n    attributes:\n      name: x\n      a:\n        - &a " +
				"[x,x,x,x,x,x,x,x,x,x]\n        - &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n        - &c " +
				"[*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n        - &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n " +
				"       - &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n        - &f " +
				"[*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n", []string{
				`13:21 | std::Null[a,name=x] | a | the aliases up to this one stand for more than 500,000 values | write the values of the aliases (*name) out`,
			}},
		{"merge key", "not part of YAML 1.2; what it lacks is not reported too",
			head + "  - &r\n    type: std::Null\n    attributes: {name: x}\n  - <<: *r\n    " +
				"attributes: {name: y}\n", []string{
				`7:5 |  |  | merge keys (<<) are not part of YAML 1.2 | write the members out`,
			}},
		{"merge key in attributes", "the names that it would bring are not missed",
			head + "  - type: std::Null\n    attributes: &at {name: x}\n  - type: std::Null\n" +
				"    attributes: {<<: *at, a: 1}\n", []string{
				`7:18 |  |  | merge keys (<<) are not part of YAML 1.2 | write the members out`,
			}},
		{"tab as indentation", "YAML forbids it",
			head + "  - type: std::Null\n\tattributes: {name: x}\n", []string{
				`5:1 |  |  | this is not valid YAML: found a tab character that violates indentation | indent with spaces, not tabs`,
			}},
		{"tab before an item", "YAML forbids it", head + "\t- type: std::Null\n", []string{
			`4:1 |  |  | this is not valid YAML: found character that cannot start any token | indent with spaces, not tabs`,
		}},
		{"not UTF-8", "bytes of Latin-1",
			head + "  - {type: std::Null, attributes: {name: caf\xe9}}\n", []string{
				`4:45 |  |  | the text is not UTF-8: the byte 0xe9 at byte 91 | save it as UTF-8`,
			}},
		{"NUL", "it ends text in many programs",
			head + "  - {type: std::Null, attributes: {name: \"a\x00b\"}}\n", []string{
				`4:44 |  |  | a NUL stands in the text, at byte 90 | remove it`,
			}},
		{"NUL as an escape in a name", "an id cannot hold it",
			head + "  - {type: std::Null, attributes: {name: \"a\\0b\"}}\n", []string{
				"4:42 |  | name | the attribute names the resource: expected text that is not " +
					"empty, or a number, got the string \"a\\x00b\" | `southbound type " +
					"std::Null` describes it",
			}},
		{"control character", "not allowed in YAML",
			head + "  - {type: std::Null, attributes: {name: \"a\x01b\"}}\n", []string{
				`4:44 |  |  | a control character stands in the text, at byte 90 | write it as an escape in double quotes, such as "\e"`,
			}},
		{"byte order mark in the middle", "from files put together",
			"southbound: 1\n\ufeffresources: []\n", []string{
				`2:1 |  |  | a byte order mark begins this line | remove it; editors add it at the start of a file, and joined files keep it`,
			}},
		{"byte order mark before a second document", "from files put together",
			head + "  - {type: std::Null, attributes: {name: x}}\n---\n\ufeffsouthbound: 1\n", []string{
				`6:1 |  |  | a byte order mark begins this line | remove it; editors add it at the start of a file, and joined files keep it`,
			}},
		{"byte order mark before the start of a document", "from files put together",
			"southbound: 1\n\ufeff---\nsouthbound: 1\n", []string{
				`2:1 |  |  | a byte order mark begins this line | remove it; editors add it at the start of a file, and joined files keep it`,
			}},
		{"tags", "they could change what a value is",
			"southbound: !!int 1\ndefaults: !x {agent: a}\nresources: !!seq\n  - !foo {type: " +
				"std::Null, attributes: {name: y}}\n  - {type: !!str std::Null, set: !x s, " +
				"attributes: !!map {name: x, a: !!binary aGk=, b: !!float 3}}\n", []string{
				`2:11 |  |  | the tag !x has no meaning here | remove the tag`,
				`4:5 | std::Null[a,name=y] |  | the tag !foo has no meaning here | remove the tag`,
				`5:34 | std::Null[a,name=x] |  | the tag !x has no meaning here | remove the tag`,
				`5:71 | std::Null[a,name=x] | a | the tag !!binary has no meaning here | remove the tag`,
				`5:89 | std::Null[a,name=x] | b | "3" is not of the type of the tag !!float | remove the tag`,
			}},
		{"tag of a path", "text that starts with !",
			head + "  - {type: fs::File, attributes: {path: !foo}}\n", []string{
				`4:41 |  | path | the tag !foo has no meaning here | remove the tag`,
			}},
		{"YAML 1.1", "yes is true in it", "%YAML 1.1\n---\nsouthbound: 1\n", []string{
			`1:1 |  |  | the format is YAML 1.2, not 1.1 | remove the directive, and put yes, no, on and off in quotes or write true and false`,
		}},
		{"YAML 1.3", "there is none", "# first\n\n%YAML 1.3 # hm\n---\nsouthbound: 1\n", []string{
			`3:1 |  |  | the format is YAML 1.2, not 1.3 | remove the directive, and put yes, no, on and off in quotes or write true and false`,
		}},
		{"unknown directive", "text that starts with %", "%FOO bar\n---\nsouthbound: 1\n", []string{
			`1:5 |  |  | this is not valid YAML: found unknown directive name | put text that starts with % in quotes`,
		}},
		{"quotes without end", "where they start says more than where the file ends",
			head + "  - type: \"std::Null\n    attributes: {name: x}\n", []string{
				`4:11 |  |  | this is not valid YAML: this has no end | close the quotes or the bracket`,
			}},
		{"bracket without end", "where it opens says more",
			head + "  - {type: std::Null, attributes: {name: x}\n  - {type: std::Null, " +
				"attributes: {name: y}}\n", []string{
				`5:3 |  |  | this is not valid YAML: did not find expected ',' or '}' for the bracket at 4:5 | close the bracket, or put text with brackets in quotes`,
			}},
		{"colon in text", "it makes a map",
			head + "  - type: std::Null\n    attributes:\n      name: a: b\n", []string{
				"6:14 |  |  | this is not valid YAML: mapping values are not allowed in this " +
					"context | put text that holds `: ` in quotes, or look at the indentation",
			}},
		{"text that starts with @", "reserved",
			head + "  - type: std::Null\n    attributes:\n      name: @foo\n", []string{
				`6:13 |  |  | this is not valid YAML: found character that cannot start any token | put text that starts with @ in quotes`,
			}},
		{"text that starts with `", "reserved",
			head + "  - type: std::Null\n    attributes:\n      name: `foo`\n", []string{
				"6:13 |  |  | this is not valid YAML: found character that cannot start any " +
					"token | put text that starts with ` in quotes",
			}},
		{"text that starts with %", "reserved",
			head + "  - type: std::Null\n    attributes:\n      name: %foo\n", []string{
				`6:13 |  |  | this is not valid YAML: found character that cannot start any token | put text that starts with % in quotes`,
			}},
		{"backslash in double quotes", "it has a meaning there",
			head + "  - type: fs::File\n    attributes:\n      path: \"\\d\"\n", []string{
				`6:14 |  |  | this is not valid YAML: found unknown escape character | in double quotes \ has a meaning; single quotes take it as it is`,
			}},
		{"wrong indentation", "the map ends where it should go on", head +
			"  - type: fs::File\n    attributes:\n      path: /x\n     mode: \"0644\"\n", []string{
			`7:6 |  |  | this is not valid YAML: did not find expected key | look at the indentation, and for quotes that end too early`,
		}},
		{"list behind a name", "it starts on a line of its own",
			head + "  - type: std::Null\n    attributes: - x\n", []string{
				"5:17 |  |  | this is not valid YAML: block sequence entries are not allowed in " +
					"this context | start the list on a line of its own, or put text that starts " +
					"with `- ` in quotes",
			}},
		{"names that are not text", "1 and true are not text in YAML, and JSON has no others",
			head + "  - {1: x, true: y, ~: z, 1.5: f}\n  - ? [a]\n    : b\n  - {{a: b}: c}\n",
			[]string{
				`4:6 |  |  | the name of a member must be text | put it in quotes`,
				`4:12 |  |  | the name of a member must be text | put it in quotes`,
				`4:21 |  |  | the name of a member must be text | put it in quotes`,
				`4:27 |  |  | the name of a member must be text | put it in quotes`,
				`5:7 |  |  | the name of a member must be text | text with brackets in it needs quotes`,
				`7:6 |  |  | the name of a member must be text | text with brackets in it needs quotes`,
			}},
		{"depth", "a stack has an end", head + "  - {type: std::Null, attributes: {name: x, a: " +
			strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}}\n", []string{
			`4:144 | std::Null[a,name=x] | a | lists and maps are nested deeper than 100 | write it less nested`,
		}},
		{"depth 10,000", "refused by the library first",
			head + "  - {type: std::Null, attributes: {name: x, a: " + strings.Repeat("[", 10000) +
				strings.Repeat("]", 10000) + "}}\n", []string{
				`4:10046 |  |  | this is not valid YAML: exceeded max depth of 10000 | write it less nested`,
			}},
		{"ten thousand open brackets", "none is closed", head + strings.Repeat("  - [\n", 10001),
			[]string{
				`10004:5 |  |  | this is not valid YAML: exceeded max depth of 10000 | write it less nested`,
			}},
		{"question mark", "a key of its own kind",
			head + "  - type: std::Null\n    attributes: {name: x}\n    set: ? y\n", []string{
				"6:10 |  |  | this is not valid YAML: mapping keys are not allowed in this " +
					"context | put text that starts with `? ` in quotes, or look at the indentation",
			}},
	}
}
