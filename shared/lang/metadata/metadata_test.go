package metadata_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/lang/metadata"
)

// whole is a project.yml with all that there is.
const whole = `name: quickstart
description: Deploys a site
author: Ann
author_email: Ann <ann@example.org>
license: Apache 2.0
copyright: 2026 Ann
modulepath: [libs, /srv/modules]
downloadpath: libs
repo:
    - https://github.com/inmanta/
    - type: git
      url: git@github.com:example/{}.git
    - {type: package, url: https://old.example.org/simple}
requires:
    - net ~= 0.2.4
    - std >1.0 <2.5
install_mode: prerelease
freeze_recursive: yes
freeze_operator: ==
strict_deps_check: false
agent_install_dependency_modules: false
relation_precedence_policy:
    - "a::T.r before b::U.s"
pip:
    index-url: https://user:secret@pypi.example.org/simple
    extra-index-url: https://two.example.org/simple
    pre: true
    use-system-config: false
environment_settings:
    auto_deploy: true
    autostart_agent_deploy_interval: 600
`

// TestProject reads all of a project.yml.
func TestProject(t *testing.T) {
	t.Parallel()
	p, warnings, err := metadata.ReadProject("/p/project.yml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || warnings[0].Line != 13 {
		t.Errorf("warnings %v", warnings)
	}
	got := fmt.Sprintf(
		"%s|%s|%s|%v|%s|%v|%v|%v|%v|%+v",
		p.Name,
		p.AuthorEmail,
		p.InstallMode,
		p.Paths(),
		p.Download(),
		p.Requires[1].Spec(),
		p.Repos[0].Address("std"),
		p.Repos[1].Address("net"),
		p.Freeze,
		p.Policy[0],
	)
	const want = "quickstart|Ann <ann@example.org>|prerelease|[/p/libs /srv/modules]|/p/libs|std " +
		">1.0,<2.5|https://github.com/inmanta/std|git@github.com:example/net.git|{true " +
		"==}|{FirstEntity:a::T First:r ThenEntity:b::U Then:s At:/p/project.yml:23:7}"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !*p.Pip.Pre || p.Pip.UseSystem || len(p.Pip.Extra) != 1 || p.StrictDeps || p.AgentInstall {
		t.Errorf("%+v", p)
	}
	if p.Settings["auto_deploy"] != true || p.Settings["autostart_agent_deploy_interval"] != 600 {
		t.Errorf("settings %v", p.Settings)
	}
	bare, _, err := metadata.ReadProject(
		"/p/project.yml",
		[]byte("name: x\nmodulepath: mine\nrequires:\n  net: net ~= 0.2.4\n"),
	)
	if err != nil || bare.Paths()[0] != "/p/mine" ||
		bare.Requires[0].Name != "inmanta-module-net" ||
		!bare.StrictDeps ||
		bare.Freeze.Operator != "~=" {
		t.Errorf("%+v, %v", bare, err)
	}
}

// wrong are texts with what is said of them: the place, the message, the hint.
var wrong = []struct{ file, text, want string }{
	{"project.yml", "", "1:1: the file is empty (write a mapping with `name: ...` first)"},
	{
		"project.yml",
		"- a",
		"1:1: the file is a list, expected a mapping (write `name: value`, a line each)",
	},
	{"project.yml", "name: a\n  b: [", "2:4: this is not valid YAML"},
	{
		"project.yml",
		"license: x",
		"1:1: the project has no name (add a line such as `name: my-project`)",
	},
	{"project.yml", "name: [a]", "1:7: name is a list, expected a text"},
	{"project.yml", "name: x\nname: y", "2:1: name is there twice (keep one of them)"},
	{
		"project.yml",
		"name: x\nmodulepaht: y",
		"2:1: modulepaht has no meaning here and is ignored (did you mean modulepath?)",
	},
	{
		"project.yml",
		"name: x\nmodulepath: {a: b}",
		"2:13: modulepath is a mapping, expected a text",
	},
	{
		"project.yml",
		"name: x\nauthor_email: nobody",
		"2:15: author_email is nobody, which is not an address",
	},
	{
		"project.yml",
		"name: x\ninstall_mode: realease",
		"2:15: install_mode is realease, expected one of release, prerelease, master (did you " +
			"mean release?)",
	},
	{
		"project.yml",
		"name: x\nfreeze_operator: '='",
		"2:18: freeze_operator is =, expected one of ~=, ==, >=",
	},
	{
		"project.yml",
		"name: x\nfreeze_recursive: maybe",
		"2:19: freeze_recursive is the value maybe, expected true or false (write true or false)",
	},
	{
		"project.yml",
		"name: x\nstrict_deps_check: 7",
		"2:20: strict_deps_check is the value 7, expected true or false",
	},
	{
		"project.yml",
		"name: x\nrequires: [std, a-b]",
		"2:17: a-b is not the name of a module (names of modules have _ where packages have -: " +
			"write a_b)",
	},
	{
		"project.yml",
		"name: x\nrequires:\n  - inmanta-module-net>1",
		"3:5: inmanta-module-net is the name of a package, expected that of a module (write net)",
	},
	{
		"project.yml",
		"name: x\nrequires: std > > 1",
		"2:11: \"std > > 1\" is not a requirement of a module",
	},
	{
		"project.yml",
		"name: x\nrequires: [[std]]",
		"2:12: an entry of requires is a list, expected a text",
	},
	{
		"project.yml",
		"name: x\nrepo:\n  - type: svn\n    url: u",
		"3:11: type is svn, expected one of git, package",
	},
	{"project.yml", "name: x\nrepo: [{type: git}]", "2:8: an entry of repo has no url"},
	{
		"project.yml",
		"name: x\nrelation_precedence_policy: [a.b after c.d]",
		"2:30: a.b after c.d is not a valid rule",
	},
	{"project.yml", "name: x\npip: here", "2:6: pip is the value here, expected a mapping"},
	{
		"project.yml",
		"name: x\npip:\n  index-url: pypi",
		"3:14: pip.index-url is not the address of an index (write such as https://host/simple)",
	},
	{
		"project.yml",
		"name: x\npip:\n  extra-index-url: [ftp://u:secret@h/x]",
		"3:21: pip.extra-index-url is not the address of an index",
	},
	{"project.yml", "name: x\npip:\n  pre: sometimes", "3:8: pre is the value sometimes"},
	{
		"project.yml",
		"name: x\npip: {indexurl: https://h}",
		"2:7: pip.indexurl has no meaning here and is ignored (did you mean index-url?)",
	},
	{"project.yml", "name: x\nmodulepath: 5", "2:13: modulepath is the value 5, expected a folder"},
	{"project.yml", "name: x\nmodulepath:\n- libs\n- 1.5", "4:3: modulepath is the value 1.5"},
	{"project.yml", "name: x\ndownloadpath: true", "2:15: downloadpath is the value true"},
	{
		"project.yml",
		"name: x\nenvironment_settings: {a: [1]}",
		"2:27: the setting a is a list, which no setting is",
	},
	{"module.yml", "name: x\nversion: 1", "1:1: license is missing"},
	{
		"module.yml",
		"name: x-y\nversion: 1\nlicense: l",
		"1:7: x-y is not a name for a module (letters, digits and _, no digit first)",
	},
	{
		"module.yml",
		"name: x\nversion: one\nlicense: l",
		"2:10: version is one, which is not a version (PEP 440)",
	},
	{
		"module.yml",
		"name: x\nversion: 1\nlicense: l\ncompiler_version: x",
		"4:19: compiler_version is x, which is not a version",
	},
	{
		"module.yml",
		"name: x\nversion: 1\nlicense: l\nrequire: [a]",
		"4:1: require has no meaning here and is ignored (did you mean requires?)",
	},
	{
		"module.yml",
		"name: x\nversion: 1\nlicense: l\ndeprecated: soon",
		"4:13: deprecated is the value soon, expected true or false",
	},
	{"setup.cfg", "", "1:1: the section [metadata] is missing"},
	{"setup.cfg", "name = x", "1:1: this line is in no section"},
	{"setup.cfg", "[metadata]\nname", "2:1: this line is neither a section nor an option"},
	{"setup.cfg", "[metadata]\nname=a\nNAME=b", "3:1: name is there twice, first in line 2"},
	{"setup.cfg", "[metadata]\n[metadata]", "2:1: [metadata] is there twice"},
	{"setup.cfg", "[metadata]\nname = inmanta-module-x\nversion = 1", "1:1: license is missing"},
	{
		"setup.cfg",
		"[metadata]\nlicense=l\nversion=1\nname = inmanta-module-x_y",
		"4:8: inmanta-module-x_y is not the name of a module's package: it has a _ (write " +
			"inmanta-module-x-y)",
	},
	{
		"setup.cfg",
		"[metadata]\nlicense=l\nversion=1\nname = net",
		"4:8: net is not the name of a module's package",
	},
	{
		"setup.cfg",
		"[metadata]\nname=inmanta-module-x\nlicense=l\nversion = 1.0.dev3",
		"4:11: version is 1.0.dev3, expected one without a tag (write `version = 1.0`, and " +
			"`tag_build = dev3` in the section [egg_info])",
	},
	{
		"setup.cfg",
		"[metadata]\nname=inmanta-module-x\nlicense=l\nversion=1\n[egg_info]\ntag_build = x y",
		"6:13: tag_build is x y, which is not the tag of a version",
	},
	{
		"setup.cfg",
		"[metadata]\nname=inmanta-module-x\nlicense=l\nversion=1\n[options]\ninstall_requires =\n" +
			"  a\n\n  # c\n  b >> 1",
		"10: \"b >> 1\" is not a requirement (PEP 508)",
	},
	{
		"setup.cfg",
		"[metadata]\nname=inmanta-module-x\nlicense=l\nversion=1\n[options]\ninstall_requires =\n" +
			"  inmanta-modules-net",
		"7: inmanta-modules-net is not the package of a module (did you mean inmanta-module-net?)",
	},
	{"requirements.txt", "a\n -r more.txt", "2:2: requirements of another file are not read"},
	{"requirements.txt", "a ==\n", "1:1: \"a ==\" is not a requirement (PEP 508)"},
}

func read(file string, text []byte) (warnings diag.Problems, err error) {
	switch file {
	case "project.yml":
		_, warnings, err = metadata.ReadProject(file, text)
	case "module.yml":
		_, warnings, err = metadata.ReadModuleV1(file, text)
	case "setup.cfg":
		_, warnings, err = metadata.ReadModuleV2(file, text)
	default:
		_, _, err = metadata.Requirements(file, text)
	}
	return warnings, err
}

// TestWrong says of each wrong value what it is, where, and what to do.
func TestWrong(t *testing.T) {
	t.Parallel()
	for _, c := range wrong {
		warnings, err := read(c.file, []byte(c.text))
		problems, _ := diag.Of(err)
		var said []string
		for _, p := range slices.Concat(problems, warnings) {
			said = append(said, fmt.Sprintf("%s (%s)", p.String(), p.Hint))
		}
		all := strings.Join(said, "\n")
		if !strings.Contains(all, c.file+":"+c.want) {
			t.Errorf("%q\n got %s\nwant %s:%s", c.text, all, c.file, c.want)
		}
		if strings.Contains(all, "secret") {
			t.Errorf("a password is shown: %s", all)
		}
	}
}

// TestModules reads modules of both kinds as the documentation of modules writes them.
func TestModules(t *testing.T) {
	t.Parallel()
	one, _, err := metadata.ReadModuleV1("module.yml", []byte("license: Apache 2.0\nname: ip\n"+
		"source: git@github.com:inmanta/ip\nversion: 0.1.15\nrequires:\n    - net ~= 0.2.4\n"+
		"    - std >1.0 <2.5\n"))
	if err != nil || one.Name != "ip" || one.Version.String() != "0.1.15" ||
		one.Requires[1].String() != "std>1.0,<2.5" {
		t.Errorf("%+v, %v", one, err)
	}
	two, _, err := metadata.ReadModuleV2(
		"setup.cfg",
		[]byte("# a module\n[metadata]\nname = inmanta-module-my-mod\n"+
			"version = 1.2.3\nlicense: Apache 2.0\ndeprecated = True\n\n[egg_info]\n"+
			"tag_build = dev0\n[options]\n"+
			"install_requires =\n  inmanta-module-net ~=0.2.4\n\n  cookiecutter~=1.7.0\n"+
			"  x@git+https://h/../r#main\n"),
	)
	if err != nil || two.Name != "my_mod" || two.Version.String() != "1.2.3.dev0" ||
		!two.Deprecated {
		t.Fatalf("%+v, %v", two, err)
	}
	if got := fmt.Sprint(two.Requires); !strings.Contains(got, "net~=0.2.4") ||
		!strings.Contains(got, "x @ git+https://h/../r@main") || two.Requires[1].At.Line != 14 {
		t.Errorf("requires %s", got)
	}
}

// TestRequirements reads what users of pip write, and the form with a branch that modules have.
func TestRequirements(t *testing.T) {
	t.Parallel()
	got, options, err := metadata.Requirements(
		"requirements.txt",
		[]byte("# all\nrequests[socks] >= 2, \\\n  < 3 # why\n"+
			"--pre\neggname@git+https://host/repository#branch\nplain@git+ssh://git@host/r\n"+
			"inmanta-module-my-mod\n"+
			"sub @ git+https://h/r@v1#subdirectory=x ; python_version > '3'\n"+
			"-e ../net # here\n--editable=git+https://h/r#egg=x\n  -cc.txt\n./one.whl\n"+
			"https://h/two.whl\n--extra-index-url https://h/simple\n"),
	)
	want := []string{
		"2:1 requests[socks]>=2,<3", "5:1 eggname @ git+https://host/repository@branch",
		"6:1 plain @ git+ssh://git@host/r",
		"7:1 my_mod", `8:1 sub @ git+https://h/r@v1#subdirectory=x ; python_version > "3"`,
	}
	var said []string
	for _, r := range got {
		said = append(said, fmt.Sprintf("%d:%d %s", r.At.Line, r.At.Column, r))
	}
	if err != nil || !slices.Equal(said, want) {
		t.Errorf("%v, %v\n got %q\nwant %q", err, options, said, want)
	}
	said = nil
	for _, o := range options {
		said = append(said, fmt.Sprintf("%d:%d %s", o.At.Line, o.At.Column, o))
	}
	want = []string{
		"4:1 --pre", "9:1 --editable ../net", "10:1 --editable git+https://h/r#egg=x",
		"11:3 --constraint c.txt", "12:1 ./one.whl", "13:1 https://h/two.whl",
		"14:1 --extra-index-url https://h/simple",
	}
	if !slices.Equal(said, want) {
		t.Errorf("options\n got %q\nwant %q", said, want)
	}
}

// FuzzMetadata holds that no text breaks a reader, and that places are in the text.
func FuzzMetadata(f *testing.F) {
	f.Add("project.yml", whole)
	for _, c := range wrong {
		f.Add(c.file, c.text)
	}
	f.Fuzz(func(t *testing.T, file, text string) {
		_, err := read(file, []byte(text))
		problems, _ := diag.Of(err)
		if err != nil && len(problems) == 0 {
			t.Errorf("no problems: %v", err)
		}
		for _, p := range problems {
			if p.Line > strings.Count(text, "\n")+2 {
				t.Errorf("%s: the text has fewer lines", p)
			}
		}
	})
}
