package source

// linesProblems are the problems of JSON lines.
func linesProblems() []badCase {
	return []badCase{
		{"empty", "no document", "", []string{
			`1:1 |  |  | there is no document on standard input | each line is a document: {"southbound": 1, "resources": [...]}`,
		}},
		{"blank lines", "no document", "\n \n\r\n", []string{
			`1:1 |  |  | there is no document on standard input | each line is a document: {"southbound": 1, "resources": [...]}`,
		}},
		{"null for resources", "[] describes none",
			"{\"southbound\": 1, \"resources\": []}\n{\"southbound\": 1, \"resources\": null}\n",
			[]string{
				"2:32 |  |  | resources has nothing under it | write `resources: []` if none is " +
					"meant, or leave it out",
			}},
		{"each line is a document", "a problem in one does not hide another",
			"{\"southbound\": 1, \"resources\": [{\"type\": \"std::Nul\"}]}\n\n{\"southbound\": " +
				"2}\n{\"southbound\": 1\n{\"southbound\": 1, \"defaults\": {\"agent\": \"a\"}, " +
				"\"resources\": [{\"type\": \"std::Null\", \"attributes\": {\"name\": \"x\"}}, 7]}",
			[]string{
				"1:33 |  |  | the resource has no agent | add `agent: NAME`, or `defaults: {agent: " +
					"NAME}` to the document",
				"1:33 |  |  | the resource has no attributes | add `attributes:`",
				"1:42 |  |  | unknown type \"std::Nul\" | did you mean \"std::Null\"? `southbound " +
					"types` lists them",
				"3:16 |  |  | the format 2 is not known | this program reads format 1: " +
					"`southbound: 1`",
				`4:17 |  |  | this is not valid JSON: it ends early | close the open brackets and quotes; a document is one line`,
				"5:113 |  |  | a resource is a map | start each resource with `- type:`",
			}},
		{"a document over two lines", "a line is a document",
			"{\"southbound\": 1,\n\"resources\": []}\n", []string{
				`1:18 |  |  | this is not valid JSON: it ends early | close the open brackets and quotes; a document is one line`,
				`2:12 |  |  | there is more after the document | each document stands on a line of its own`,
			}},
		{"two documents on a line", "a line is a document",
			"{\"southbound\": 1} {\"southbound\": 1}\n", []string{
				`1:19 |  |  | there is more after the document | each document stands on a line of its own`,
			}},
		{"defaults of another line", "they are those of a document",
			"{\"southbound\": 1, \"defaults\": {\"agent\": \"a\"}}\n{\"southbound\": 1, " +
				"\"resources\": [{\"type\": \"std::Null\", \"attributes\": {\"name\": \"x\"}}]}\n",
			[]string{
				"2:33 |  |  | the resource has no agent | add `agent: NAME`, or `defaults: {agent: " +
					"NAME}` to the document",
			}},
		{"YAML", "JSON lines are wanted", "southbound: 1\nresources: []\n", []string{
			`1:1 |  |  | this is not valid JSON: invalid character 's' at start of value | standard input holds JSON, a document a line; name a YAML file by its path`,
			`2:1 |  |  | this is not valid JSON: invalid character 'r' at start of value | standard input holds JSON, a document a line; name a YAML file by its path`,
		}},
		{"the same resource on two lines", "both places",
			"{\"southbound\": 1, \"defaults\": {\"agent\": \"a\"}, \"resources\": [{\"type\": " +
				"\"std::Null\", \"attributes\": {\"name\": \"x\"}}]}\n{\"southbound\": 1, " +
				"\"defaults\": {\"agent\": \"a\"}, \"resources\": [{\"type\": \"std::Null\", " +
				"\"attributes\": {\"name\": \"x\"}}]}\n", []string{
				`2:61 | std::Null[a,name=x] |  | the resource is described twice, first at -:1:61 | remove one of the two; a resource is described once in an export`,
			}},
	}
}
