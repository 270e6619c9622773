package source

// resourceProblems are the problems of what a resource may say.
func resourceProblems() []badCase {
	return []badCase{
		{"not a map", "a name alone is not a resource", head + "  - foo\n  -\n  - [a]\n", []string{
			"4:5 |  |  | a resource is a map | start each resource with `- type:`",
			"5:4 |  |  | a resource is a map | start each resource with `- type:`",
			"6:5 |  |  | a resource is a map | start each resource with `- type:`",
		}},
		{"code", "only models bring handlers, and no attribute opens a type",
			head + "  - type: fs::File\n    attributes: {path: /x, any: 1, _code: {file: " +
				"resource.yaml}}\n", []string{
				`5:28 | fs::File[a,path=/x] | any | fs::File has no attribute "any" | ` +
					"it has path, content, mode, backup, size",
				`5:36 | fs::File[a,path=/x] | _code | fs::File has no attribute "_code" | ` +
					"handlers in Python come with models whose modules have them",
			}},
		{"declaration", "only a lock file declares types",
			head + "  - type: fs::File\n    attributes: {path: /x, _type: {file: resource.yaml}}\n", []string{
				`5:28 | fs::File[a,path=/x] | _type | fs::File has no attribute "_type" | ` +
					"leave it out: an export adds it from southbound.lock",
			}},
		{"a member too deep", "it says where the member belongs",
			head + "  - type: fs::File\n    attributes: {path: /x, purged: true}\n", []string{
				`5:28 | fs::File[a,path=/x] | purged | "purged" belongs to the resource, not to its ` +
					"attributes | write `purged` beside `attributes`",
			}},
		{"nothing in it", "everything that is required is named",
			"southbound: 1\nresources:\n  - {}\n", []string{
				"3:5 |  |  | the resource has no type | add `type: fs::File`, for example; " +
					"`southbound types` lists them",
				"3:5 |  |  | the resource has no agent | add `agent: NAME`, or `defaults: {agent: " +
					"NAME}` to the document",
				"3:5 |  |  | the resource has no attributes | add `attributes:`",
			}},
		{"members of the wrong kind", "each in its place",
			"southbound: 1\nresources:\n  - type: [x]\n    agent: 3\n    set: \"\"\n    " +
				"attributes: []\n    requires: x\n  - type:\n    agent: {a: b}\n    set: [x]\n   " +
				" attributes: x\n    requires: {a: b}\n", []string{
				`3:11 |  |  | type is text | write one text, in quotes where it holds brackets`,
				`4:12 |  |  | agent is text | put it in quotes`,
				`5:10 |  |  | set is empty | write it, or leave it out`,
				`6:17 |  |  | attributes is a map | write it such as {path: /etc/motd}`,
				`7:15 |  |  | requires is a list of ids | write it such as ["fs::Directory[web1,path=/srv]"]`,
				`8:10 |  |  | type is empty | write it, or leave it out`,
				`9:12 |  |  | agent is text | write one text, in quotes where it holds brackets`,
				`10:10 |  |  | set is text | write one text, in quotes where it holds brackets`,
				`11:17 |  |  | attributes is a map | write it such as {path: /etc/motd}`,
				`12:15 |  |  | requires is a list of ids | write it such as ["fs::Directory[web1,path=/srv]"]`,
			}},
		{"agents", "a list of names, instead of a name",
			"southbound: 1\ndefaults: {agents: [a, a]}\nresources:\n  - {type: fs::File, title: " +
				"/x}\n  - {type: fs::File, agent: a, agents: [b], title: /x}\n  - {type: " +
				"fs::File, agents: a, title: /x}\n  - {type: fs::File, agents: [], title: /x}\n  " +
				"- {type: fs::File, agents: [[a], \"\"], title: /x}\n", []string{
				`2:24 |  |  | the agent "a" is in the list twice | remove one of the two`,
				`5:32 | fs::File[b,path=/x] |  | agent and agents are both there | keep one of the two`,
				`6:30 |  |  | agents is a list of names | write it such as [web1, web2]`,
				`7:30 |  |  | agents is an empty list | write it such as [web1, web2]`,
				`8:31 |  |  | each of agents is text | write one text, in quotes where it holds brackets`,
				`8:36 |  |  | each of agents is empty | write it, or leave it out`,
			}},
		{"the same on several agents", "what is written once is reported once",
			"southbound: 1\ndefaults: {agents: [a, b, c]}\nresources:\n  - {type: fs::File, " +
				"attributes: {path: /x, mode: 644, contnt: x}}\n  - {type: fs::File, title: /y, " +
				"requires: [\"fs::Fil[path=]\"]}\n", []string{
				`4:5 | fs::File[b,path=/x] |  | it manages the same object as fs::File[a,path=/x]: path /x, at $FILE:4:5 (the same for 1 more resource described here) | describe it for one of the agents "a" and "b": both reach this machine`,
				`4:51 | fs::File[a,path=/x] | mode | expected a String, got the integer 644 (the same for 2 more resources described here) | write it in quotes, such as "0644", so that it is text`,
				`4:56 | fs::File[a,path=/x] | contnt | fs::File has no attribute "contnt" (the same for 2 more resources described here) | did you mean "content"?`,
				`5:5 | fs::File[b,path=/y] |  | it manages the same object as fs::File[a,path=/y]: path /y, at $FILE:5:5 (the same for 1 more resource described here) | describe it for one of the agents "a" and "b": both reach this machine`,
				`5:44 | fs::File[a,path=/y] |  | a requirement is the id of a resource, and "fs::Fil[path=]": expected a value, which is text that is not empty, at character 14 | an id looks like fs::File[web1,path=/etc/motd]; , = ] and \ in a value have a \ before them`,
			}},
		{"unknown type", "a near one is proposed, and the id it would have is shown",
			head + "  - {type: fs::Fiel, attributes: {path: /x}}\n  - {type: cloud::Bucket, " +
				"attributes: {name: x}}\n  - {type: File, attributes: {path: /x}}\n  - {type: \"tf::shop::Role\", attributes: {x: y}}\n",
			[]string{
				"4:12 | fs::Fiel[a,path=/x] |  | unknown type \"fs::Fiel\" | did you mean " +
					"\"fs::File\"? `southbound types` lists them",
				"5:12 |  |  | unknown type \"cloud::Bucket\" | `southbound types` lists them",
				"6:12 |  |  | unknown type \"File\" | `southbound types` lists them",
				"7:12 |  |  | unknown type \"tf::shop::Role\" | add the provider with `southbound provider add` " +
					"in the directory of southbound.yaml, or see `southbound types`",
			}},
		{"unknown member", "misspelt, or an attribute in the wrong place",
			head + "  - type: fs::File\n    mode: \"0644\"\n    agnet: b\n    zzz: 1\n    " +
				"attributes: {path: /x}\n", []string{
				"5:5 | fs::File[a,path=/x] |  | \"mode\" is an attribute of fs::File, not a member " +
					"of resources | indent it below `attributes:`",
				`6:5 | fs::File[a,path=/x] |  | unknown member "agnet" | did you mean "agent"?`,
				`7:5 | fs::File[a,path=/x] |  | unknown member "zzz" | there are type, title, attributes, requires, agent, agents, set, purged, purge_on_delete, prevent_destroy, report_only, send_event, receive_events, managed`,
			}},
		{"unknown attribute", "the name is what is wrong",
			head + "  - type: fs::File\n    attributes:\n      path: /x\n      contnt: hi\n      " +
				"zzz: 1\n", []string{
				`7:7 | fs::File[a,path=/x] | contnt | fs::File has no attribute "contnt" | did you mean "content"?`,
				`8:7 | fs::File[a,path=/x] | zzz | fs::File has no attribute "zzz" | it has path, content, mode, backup, size`,
			}},
		{"naming attribute that is missing",
			"the resource cannot be named, and the rest is checked all the same",
			head + "  - type: fs::File\n    attributes: {mode: 7, siez: 1}\n", []string{
				`5:17 |  | path | the attribute is missing and names the resource: expected a String of at least 1 character | add path`,
				`5:24 |  | mode | expected a String, got the integer 7 | write it in quotes, such as "0644", so that it is text`,
				`5:27 |  | siez | fs::File has no attribute "siez" | did you mean "size"?`,
			}},
		{"naming attribute that names nothing", "empty text, lists and null",
			head + "  - {type: std::Null, attributes: {name: \"\"}}\n  - {type: std::Null, " +
				"attributes: {name: [x]}}\n  - {type: std::Null, attributes: {name: }}\n", []string{
				"4:42 |  | name | expected a String of at least 1 character, got the empty " +
					"string | `southbound type std::Null` describes it",
				"5:42 |  | name | expected a String of at least 1 character, got a list of 1 " +
					"item | `southbound type std::Null` describes it",
				`6:42 |  | name | the attribute is missing and names the resource: expected a String of at least 1 character | add name`,
			}},
		{"several naming attributes", "one of them is wrong",
			head + "  - {type: net::Port, attributes: {host: h}}\n" +
				"  - {type: net::Port, attributes: {host: h, port: 0}}\n", []string{
				`4:35 |  | port | the attribute is missing and names the resource: expected an Integer between 1 and 65535 | add port`,
				"5:51 | net::Port[a,host=h,port=0] | port | expected an Integer between 1 and " +
					"65535, got the integer 0 | `southbound type net::Port` describes it",
			}},
		{"no agent", "the attributes are checked all the same",
			"southbound: 1\nresources:\n  - {type: fs::File, attributes: {path: /x, mode: 7}}\n",
			[]string{
				"3:5 |  |  | the resource has no agent | add `agent: NAME`, or `defaults: {agent: " +
					"NAME}` to the document",
				`3:51 |  | mode | expected a String, got the integer 7 | write it in quotes, such as "0644", so that it is text`,
			}},
		{"agent that is not a name", "it must print",
			head + "  - {type: std::Null, agent: \"a\\tb\", attributes: {name: x}}\n", []string{
				`4:30 |  |  | "a\tb" cannot name an agent | use at most 255 bytes that all print`,
			}},
		{"requires", "ids are text in their one form",
			head + "  - type: std::Null\n    attributes: {name: x}\n    requires:\n      - " +
				"std::Null[a,name=y]\n      - fs::File\n      - [std::Null]\n      - 7\n      - " +
				"\"std::Null[a,name=a=b]\"\n      - \"std::Null[a]\"\n", []string{
				`7:7 | std::Null[a,name=x] |  | requires std::Null[a,name=y], which does not exist | describe it, also if the thing is there already, or remove the requirement`,
				`8:9 | std::Null[a,name=x] |  | a requirement is the id of a resource, and "fs::File": expected [ and an agent behind the type at character 9 | an id looks like fs::File[web1,path=/etc/motd]; , = ] and \ in a value have a \ before them`,
				`9:9 | std::Null[a,name=x] |  | a requirement is the id of a resource | put ids in quotes, such as "fs::File[web1,path=/etc/motd]"`,
				`10:9 | std::Null[a,name=x] |  | a requirement is the id of a resource | write it such as fs::File[web1,path=/etc/motd]`,
				`11:9 | std::Null[a,name=x] |  | a requirement is the id of a resource, and "std::Null[a,name=a=b]": expected , or ] at character 19 | an id looks like fs::File[web1,path=/etc/motd]; , = ] and \ in a value have a \ before them`,
				`12:9 | std::Null[a,name=x] |  | a requirement is the id of a resource, and "std::Null[a]": expected , and a naming attribute at character 12 | an id looks like fs::File[web1,path=/etc/motd]; , = ] and \ in a value have a \ before them`,
			}},
		{"requires without quotes in brackets", "YAML cuts at the comma",
			head +
				"  - {type: std::Null, attributes: {name: x}, requires: [std::Null[a,name=y]]}\n",
			[]string{
				`4:66 |  |  | this is not valid YAML: did not find expected ',' or ']' for the bracket at 4:56 | close the bracket, or put text with brackets in quotes`,
			}},
		{"requires what is not there", "a near one is proposed", head +
			"  - {type: std::Null, attributes: {name: x}, requires: [\"std::Null[b,name=y]\"]}\n " +
			" - {type: std::Null, attributes: {name: y}}\n", []string{
			`4:56 | std::Null[a,name=x] |  | requires std::Null[b,name=y], which does not exist | did you mean std::Null[a,name=y]?`,
		}},
		{"requires what is not complete", "that is reported already", head +
			"  - {type: std::Null, attributes: {name: x}, requires: [\"fs::Fil[a,path=/x]\"]}\n  " +
			"- {type: fs::Fil, attributes: {path: /x}}\n", []string{
			"5:12 | fs::Fil[a,path=/x] |  | unknown type \"fs::Fil\" | did you mean " +
				"\"fs::File\"? `southbound types` lists them",
		}},
		{"requires what cannot be named", "that is reported already", head +
			"  - {type: std::Null, attributes: {name: x}, requires: [\"fs::File[a,path=/x]\"]}\n " +
			" - {type: fs::File, attributes: {paht: /x}}\n", []string{
			`5:34 |  | path | the attribute is missing and names the resource: expected a String of at least 1 character | add path`,
			`5:35 |  | paht | fs::File has no attribute "paht" | did you mean "path"?`,
		}},
		{"cycle", "all of it is named", head +
			"  - {type: std::Null, attributes: {name: x}, requires: [\"std::Null[a,name=y]\"]}\n " +
			" - {type: std::Null, attributes: {name: y}, requires: [\"std::Null[a,name=z]\"]}\n  " +
			"- {type: std::Null, attributes: {name: z}, requires: [\"std::Null[a,name=x]\"]}\n",
			[]string{
				`4:56 | std::Null[a,name=x] |  | dependency cycle: std::Null[a,name=x] requires std::Null[a,name=y] requires std::Null[a,name=z] requires std::Null[a,name=x] | remove one of these requirements`,
			}},
		{"cycle through one that is described twice", "one fault does not hide the other", head +
			"  - {type: std::Null, attributes: {name: x}, requires: [\"std::Null[a,name=y]\"]}\n " +
			" - {type: std::Null, attributes: {name: x}}\n  - {type: std::Null, attributes: " +
			"{name: y}, requires: [\"std::Null[a,name=x]\"]}\n",
			[]string{
				`4:56 | std::Null[a,name=x] |  | dependency cycle: std::Null[a,name=x] requires std::Null[a,name=y] requires std::Null[a,name=x] | remove one of these requirements`,
				`5:5 | std::Null[a,name=x] |  | the resource is described twice, first at $FILE:4:5 | remove one of the two; a resource is described once in an export`,
			}},
		{"duplicate", "both places", head +
			"  - {type: std::Null, attributes: {name: x}}\n  - {type: std::Null, attributes: " +
			"{name: x}}\n", []string{
			`5:5 | std::Null[a,name=x] |  | the resource is described twice, first at $FILE:4:5 | remove one of the two; a resource is described once in an export`,
		}},
		{"in two sets", "both sets", head +
			"  - {type: std::Null, set: s, attributes: {name: x}}\n  - {type: std::Null, " +
			"attributes: {name: x}}\n", []string{
			`5:5 | std::Null[a,name=x] |  | the resource is in two sets, "s" and the shared set, first at $FILE:4:5 | a resource belongs to one set; keep one of the two`,
		}},
		{"a second problem at an attribute", "what is wrong with a value is said once", head +
			"  - {type: fs::File, attributes: {path: /x, content: !t hi, size: .inf}}\n", []string{
			`4:54 | fs::File[a,path=/x] | content | the tag !t has no meaning here | remove the tag`,
			`4:67 | fs::File[a,path=/x] | size | .inf: infinity is not a number that can be stored | put it in quotes if it is text`,
		}},
		{"a second problem at an attribute that is required", "it is not missed besides",
			head + "  - {type: test::Zone, attributes: {name: x, must: .nan}}\n", []string{
				`4:52 | test::Zone[a,name=x,region=eu] | must | .nan: not-a-number cannot be stored | put it in quotes if it is text`,
			}},
		{"not managed", "it is not exported, so it is not checked",
			head + "  - {type: cloud::Bucket, managed: false}\n" +
				"  - {type: std::Null, managed: maybe, attributes: {name: x}}\n", []string{
				`5:32 | std::Null[a,name=x] |  | managed is true or false | write true or false; yes, no, on and off are text in YAML 1.2`,
			}},
	}
}
