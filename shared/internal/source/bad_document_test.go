package source

// documentProblems are the problems of what a document may say beside its resources.
func documentProblems() []badCase {
	return []badCase{
		{"empty", "nothing stands in it", "", []string{
			"1:1 |  |  | there is no document in the file | a document starts with `southbound: " +
				"1`; a name that starts with _ leaves a file out",
		}},
		{"only comments", "nothing stands in it", "# nothing\n\n", []string{
			"1:1 |  |  | there is no document in the file | a document starts with `southbound: " +
				"1`; a name that starts with _ leaves a file out",
		}},
		{"only document starts", "nothing stands in it", "---\n---\n", []string{
			"1:1 |  |  | there is no document in the file | a document starts with `southbound: " +
				"1`; a name that starts with _ leaves a file out",
		}},
		{"text", "not a map", "hello\n", []string{
			"1:1 |  |  | a document is a map | it starts with `southbound: 1`",
		}},
		{"list", "the author left out the head", "- type: std::Null\n", []string{
			"1:1 |  |  | a document is a map | put the list under `resources:`, below " +
				"`southbound: 1`",
		}},
		{"no format", "it may be anything", "resources: []\n", []string{
			"1:1 |  |  | the document has no format | add `southbound: 1`",
		}},
		{"format 2", "a later program's", "southbound: 2\nresources: [{what: ever}]\n", []string{
			"1:13 |  |  | the format 2 is not known | this program reads format 1: `southbound: 1`",
		}},
		{"format in quotes", "it is a number", "southbound: \"1\"\n", []string{
			"1:13 |  |  | the format \"1\" is not known | this program reads format 1: " +
				"`southbound: 1`",
		}},
		{"format as a float", "it is a whole number", "southbound: 1.0\n", []string{
			"1:13 |  |  | the format 1.0 is not known | this program reads format 1: " +
				"`southbound: 1`",
		}},
		{"no format in the second document", "each has its own",
			"southbound: 1\n---\nresources: []\n", []string{
				"3:1 |  |  | the document has no format | add `southbound: 1`",
			}},
		{"unknown members", "most likely misspelt",
			"southbound: 1\nresorces: []\nagent: a\nzzz: 1\n", []string{
				`2:1 |  |  | unknown member "resorces" | did you mean "resources"?`,
				`3:1 |  |  | unknown member "agent" | did you mean "agents"?`,
				`4:1 |  |  | unknown member "zzz" | there are southbound, defaults, agents, resources`,
			}},
		{"resources is a map", "a list is wanted", "southbound: 1\nresources: {type: x}\n",
			[]string{
				"2:12 |  |  | resources is a list | start each resource with `- type:`",
			}},
		{"resources is text", "a list is wanted", "southbound: 1\nresources: all\n", []string{
			"2:12 |  |  | resources is a list | start each resource with `- type:`",
		}},
		{"resources with nothing under it", "a template that rendered nothing leaves it so",
			"southbound: 1\nresources:\n  # - {type: std::Null}\n---\nsouthbound: 1\nresources: " +
				"~\n", []string{
				"2:11 |  |  | resources has nothing under it | write `resources: []` if none is meant, " +
					"or leave it out",
				"6:12 |  |  | resources has nothing under it | write `resources: []` if none is meant, " +
					"or leave it out",
			}},
		{"defaults is a list", "a map is wanted", "southbound: 1\ndefaults: [a]\nagents: []\n",
			[]string{
				`2:11 |  |  | defaults is a map | write it such as {agent: web1}`,
				`3:9 |  |  | agents is a map | write it such as {web1: {transport: local}}`,
			}},
		{"unknown default", "attributes have no defaults",
			"southbound: 1\ndefaults: {agnet: a, mode: \"0644\", type: fs::File}\n", []string{
				`2:12 |  |  | unknown member "agnet" | did you mean "agent"?`,
				`2:22 |  |  | unknown member "mode" | there are agent, agents, set, purged, purge_on_delete, prevent_destroy, report_only, send_event, receive_events, managed`,
				`2:36 |  |  | unknown member "type" | there are agent, agents, set, purged, purge_on_delete, prevent_destroy, report_only, send_event, receive_events, managed`,
			}},
		{"bad default agent", "the resources do not lack an agent besides",
			"southbound: 1\ndefaults: {agent: 7}\nresources:\n  - {type: std::Null, attributes: " +
				"{name: x}}\n", []string{
				`2:19 |  |  | agent is text | put it in quotes`,
			}},
		{"agents", "each in its place",
			"southbound: 1\nagents:\n  a: local\n  b: {lanes: 0}\n  c: {lanes: 1025}\n  d: " +
				"{lanes: 1.5}\n  e: {transport: 7}\n  \"x\\ty\": {}\n  f: {transport: ssh, host: " +
				"{file: gone}}\n  g:\n", []string{
				`3:6 |  |  | an agent is a map | write it such as {transport: local}`,
				`4:14 |  |  | lanes is a whole number from 1 to 1024 | write 1 for one after the other`,
				`5:14 |  |  | lanes is a whole number from 1 to 1024 | write 1 for one after the other`,
				`6:14 |  |  | lanes is a whole number from 1 to 1024 | write 1 for one after the other`,
				`7:18 |  |  | transport is text | put it in quotes`,
				`8:3 |  |  | "x\ty" cannot name an agent | use at most 255 bytes that all print`,
				`9:36 |  |  | the file gone does not exist | the path is relative to the document`,
				`10:5 |  |  | an agent is a map | write it such as {transport: local}`,
			}},
		{"octal numbers of agents", "YAML 1.1 and 1.2 read them differently",
			"southbound: 1\nagents:\n  a: {lanes: 010}\n  b: {transport: ssh, host: h, port: " +
				"0022, jump: [{host: j, port: 01}]}\n", []string{
				`3:14 |  |  | an integer that starts with 0 is decimal in YAML 1.2 and octal in YAML 1.1 | write 10, or an octal number as 0o644, or put it in quotes if it is text`,
				`4:38 |  |  | an integer that starts with 0 is decimal in YAML 1.2 and octal in YAML 1.1 | write 22, or an octal number as 0o644, or put it in quotes if it is text`,
				`4:67 |  |  | an integer that starts with 0 is decimal in YAML 1.2 and octal in YAML 1.1 | write 1, or an octal number as 0o644, or put it in quotes if it is text`,
			}},
		{"an agent in two ways", "nobody can know which",
			"southbound: 1\nagents: {a: {lanes: 2}}\n---\nsouthbound: 1\nagents: {a: {lanes: 3}}\n",
			[]string{
				`5:10 |  |  | the agent "a" is described differently at $FILE:2:10 | describe it once, or alike`,
			}},
		{"problems of all parts", "all of an input's problems at once",
			"southbound: 1\ndefaults: {set: 1}\nagents: {a: {lanes: x}}\nresources:\n  - {type: " +
				"fs::Fil, agent: a, attributes: {path: /x}}\n  - {type: std::Null, agent: a, " +
				"attributes: {name: x}, requires: [\"std::Null[a,name=gone]\", " +
				"\"std::Null[a,name=y]\"]}\n  - {type: std::Null, agent: a, attributes: {name: " +
				"y}, requires: [\"std::Null[a,name=x]\"]}\n  - {type: net::Port, agent: a, " +
				"attributes: {host: h, port: 70000}}\n  - {type: std::Null, agent: a, " +
				"attributes: {name: x}}\nextra: 1\n", []string{
				`2:17 |  |  | set is text | put it in quotes`,
				`3:21 |  |  | lanes is a whole number from 1 to 1024 | write 1 for one after the other`,
				"5:12 | fs::Fil[a,path=/x] |  | unknown type \"fs::Fil\" | did you mean " +
					"\"fs::File\"? `southbound types` lists them",
				`6:66 | std::Null[a,name=x] |  | requires std::Null[a,name=gone], which does not exist | describe it, also if the thing is there already, or remove the requirement`,
				`6:66 | std::Null[a,name=x] |  | dependency cycle: std::Null[a,name=x] requires std::Null[a,name=y] requires std::Null[a,name=x] | remove one of these requirements`,
				"8:61 | net::Port[a,host=h,port=70000] | port | expected an Integer between 1 and " +
					"65535, got the integer 70000 | `southbound type net::Port` describes it",
				`9:5 | std::Null[a,name=x] |  | the resource is described twice, first at $FILE:6:5 | remove one of the two; a resource is described once in an export`,
				`10:1 |  |  | unknown member "extra" | there are southbound, defaults, agents, resources`,
			}},
	}
}
