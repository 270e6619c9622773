package source

import "strings"

// jsonProblems are the problems of pitfalls of JSON.
func jsonProblems() []badCase {
	return []badCase{
		{"empty", "no document", "", []string{
			`1:1 |  |  | there is no document in the file | a document starts with {"southbound": 1`,
		}},
		{"blanks", "no document", " \n\t\n", []string{
			`1:1 |  |  | there is no document in the file | a document starts with {"southbound": 1`,
		}},
		{"text", "not a map", "\"hello\"", []string{
			"1:1 |  |  | a document is a map | it starts with `southbound: 1`",
		}},
		{"list", "the author left out the head", "[{\"type\": \"std::Null\"}]", []string{
			"1:1 |  |  | a document is a map | put the list under `resources:`, below " +
				"`southbound: 1`",
		}},
		{"null for resources", "[] describes none", `{"southbound": 1, "resources": null}`, []string{
			"1:32 |  |  | resources has nothing under it | write `resources: []` if none is meant, " +
				"or leave it out",
		}},
		{"two documents", "a file holds one", "{\"southbound\": 1}\n{\"southbound\": 1}\n",
			[]string{
				`2:1 |  |  | there is more after the document | a file holds one document; put the resources of all into one list, or into several files`,
			}},
		{"ends early", "something is open",
			"{\"southbound\": 1, \"resources\": [{\"type\": \"std::Null\"", []string{
				`1:53 |  |  | this is not valid JSON: it ends early | close the open brackets and quotes`,
			}},
		{"comment", "JSON has none", "{\"southbound\": 1, // hi\n\"resources\": []}", []string{
			`1:19 |  |  | this is not valid JSON: invalid character '/' at start of value | JSON has no comments`,
		}},
		{"hash comment", "JSON has none", "{\"southbound\": 1,\n# hi\n\"resources\": []}", []string{
			`2:1 |  |  | this is not valid JSON: invalid character '#' at start of value | JSON has no comments`,
		}},
		{"comma before a bracket", "JSON forbids it", "{\"southbound\": 1, \"resources\": [],}",
			[]string{
				`1:34 |  |  | this is not valid JSON: invalid character ',' at start of value | no comma stands before a closing bracket`,
			}},
		{"comma before a bracket in resources", "JSON forbids it",
			"{\"southbound\": 1, \"resources\": [{\"type\": \"std::Null\", \"agent\": \"a\", " +
				"\"attributes\": {\"name\": \"x\",}}]}", []string{
				`1:95 |  |  | this is not valid JSON: invalid character ',' at start of value | no comma stands before a closing bracket`,
			}},
		{"single quotes", "text stands in double quotes", "{'southbound': 1}", []string{
			`1:2 |  |  | this is not valid JSON: invalid character '\'' at start of value | text stands in "double quotes"`,
		}},
		{"name without quotes", "JSON wants them", "{southbound: 1}", []string{
			`1:2 |  |  | this is not valid JSON: invalid character 's' at start of value | text stands in "double quotes"; the words without quotes are true, false and null`,
		}},
		{"no comma", "something is missing", "{\"southbound\": 1 \"resources\": []}", []string{
			`1:18 |  |  | this is not valid JSON: invalid character '"' after object value (expecting ',' or '}') | look for a comma, a colon or quotes that are missing here or just before`,
		}},
		{"no colon", "something is missing", "{\"southbound\" 1}", []string{
			`1:15 |  |  | this is not valid JSON: invalid character '1' after object name (expecting ':') | look for a comma, a colon or quotes that are missing here or just before`,
		}},
		{"name that is a number", "JSON wants text", "{1: 2}", []string{
			`1:2 |  |  | this is not valid JSON: object member name must be a string | look for a comma, a colon or quotes that are missing here or just before`,
		}},
		{"number with a leading zero", "JSON forbids it", "{\"southbound\": 01}", []string{
			`1:17 |  |  | this is not valid JSON: invalid character '1' after object value (expecting ',' or '}') | a number does not start with 0; put it in quotes if it is text`,
		}},
		{"number beyond float64", "it cannot be stored",
			"{\"southbound\": 1, \"resources\": [{\"type\": \"std::Null\", \"agent\": \"a\", " +
				"\"attributes\": {\"name\": \"x\", \"a\": 1e999, \"b\": " +
				strings.Repeat("9", 1001) + "}}]}", []string{
				`1:102 | std::Null[a,name=x] | a | the number 1e999 is too large | put it in quotes if it is text`,
				`1:114 | std::Null[a,name=x] | b | the number is too long | put it in quotes if it is text`,
			}},
		{"NaN", "JSON has none", "{\"southbound\": 1, \"x\": NaN}", []string{
			`1:24 |  |  | this is not valid JSON: invalid character 'N' at start of value | text stands in "double quotes"; the words without quotes are true, false and null`,
		}},
		{"wrong escape", "JSON knows few",
			"{\"southbound\": 1, \"resources\": [{\"type\": \"\\x41\"}]}", []string{
				"1:43 |  |  | this is not valid JSON: invalid escape sequence `\\x` in string | an " +
					"escape is \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u and four hexadecimal " +
					"digits, two of these for characters beyond \\uffff",
			}},
		{"lone surrogate", "it is not a character",
			"{\"southbound\": 1, \"resources\": [{\"type\": \"\\ud800\"}]}", []string{
				"1:43 |  |  | this is not valid JSON: invalid surrogate pair `\\ud800\"}]}` in " +
					"string | an escape is \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u and four " +
					"hexadecimal digits, two of these for characters beyond \\uffff",
			}},
		{"line break in text", "JSON wants an escape",
			"{\"southbound\": 1, \"resources\": [{\"type\": \"a\nb\"}]}", []string{
				`1:44 |  |  | this is not valid JSON: invalid character '\n' in string (expecting non-control character) | close the quotes, or write \n for a line break`,
			}},
		{"NUL as an escape in a name", "an id cannot hold it",
			"{\"southbound\": 1, \"resources\": [{\"type\": \"std::Null\", \"agent\": \"a\", " +
				"\"attributes\": {\"name\": \"a\\u0000b\"}}]}", []string{
				"1:92 |  | name | the attribute names the resource: expected text that is not " +
					"empty, or a number, got the string \"a\\x00b\" | `southbound type " +
					"std::Null` describes it",
			}},
		{"duplicate names", "the last would win silently",
			"{\"southbound\": 1, \"southbound\": 1,\n \"resources\": [{\"type\": \"std::Null\", " +
				"\"agent\": \"a\", \"attributes\": {\"name\": \"x\", \"a\": 1, \"a\": 2, \"b\": " +
				"{\"k\": 1, \"k\": 2}}}]}", []string{
				`1:19 |  |  | "southbound" is there twice, first at 1:2 | remove one of the two`,
				`2:88 | std::Null[a,name=x] | a | "a" is there twice, first at 2:80 | remove one of the two`,
				`2:110 | std::Null[a,name=x] | b | "k" is there twice, first at 2:102 | remove one of the two`,
			}},
		{"duplicate resources", "one of the lists would be lost",
			"{\"southbound\": 1, \"resources\": [], \"resources\": [{}]}", []string{
				`1:36 |  |  | "resources" is there twice, first at 1:19 | remove one of the two`,
			}},
		{"depth", "a stack has an end",
			"{\"southbound\": 1, \"resources\": [{\"type\": \"std::Null\", \"agent\": \"a\", " +
				"\"attributes\": {\"name\": \"x\", \"a\": " + strings.Repeat("[", 100) +
				strings.Repeat("]", 100) + "}}]}", []string{
				`1:198 | std::Null[a,name=x] | a | lists and maps are nested deeper than 100 | write it less nested`,
			}},
		{"depth 10,000", "refused by the library first", "{\"southbound\": 1, \"resources\": " +
			strings.Repeat("[", 10001) + strings.Repeat("]", 10001) + "}", []string{
			`1:10031 |  |  | this is not valid JSON: lists and maps are nested too deeply | write it less nested`,
		}},
		{"depth where nothing is read", "an unknown member is read too",
			"{\"southbound\": 1, \"x\": " + strings.Repeat("[", 10001) +
				strings.Repeat("]", 10001) + "}", []string{
				`1:123 |  |  | lists and maps are nested deeper than 100 | write it less nested`,
				`1:10023 |  |  | this is not valid JSON: lists and maps are nested too deeply | write it less nested`,
			}},
		{"no UTF-8", "bytes of Latin-1", "{\"southbound\": 1, \"x\": \"\xe9\"}", []string{
			`1:25 |  |  | the text is not UTF-8: the byte 0xe9 at byte 25 | save it as UTF-8`,
		}},
		{"problems on many lines", "lines and columns count as in YAML",
			"{\"southbound\": 1,\n  \"defaults\": {\"agent\": \"ä\"},\n  \"resources\": [\n    " +
				"{\"type\": \"fs::File\",\n     \"attributes\": {\"path\": \"/ü🙂x\", \"mdoe\": " +
				"\"0644\"}, \"ö\": 1},\n    {\"type\": \"std::Null\", \"attributes\": {\"name\": " +
				"true}, \"purged\": \"yes\"}\n  ]}\n", []string{
				`5:37 | fs::File[ä,path=/ü🙂x] | mdoe | fs::File has no attribute "mdoe" | did you mean "mode"?`,
				`5:54 | fs::File[ä,path=/ü🙂x] |  | unknown member "ö" | there are type, title, attributes, requires, agent, agents, set, purged, purge_on_delete, prevent_destroy, report_only, send_event, receive_events, managed`,
				`6:50 | std::Null[ä,name=true] | name | expected a String of at least 1 character, got the Boolean true | write it in quotes, such as "yes" or "true", so that it is text`,
				`6:67 | std::Null[ä,name=true] |  | purged is true or false | write true or false; yes, no, on and off are text in YAML 1.2`,
			}},
	}
}
