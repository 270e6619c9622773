package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
)

func TestProject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "site", "southbound.yaml"), `environment: prod
data: ../state
api: https://example.org
settings: {deploy_timer: 600, repair_timer: "30 2 * * *", retry_base: 2s, retry_max: 1h, keep_versions: 5, keep_actions: 30d12h}
`)
	write(t, filepath.Join(dir, "site", "a.yaml"), doc("x"))
	write(t, filepath.Join(dir, "none", "a.yaml"), doc("x"))
	write(t, filepath.Join(dir, "empty", "southbound.yaml"), "# nothing\n")
	write(t, filepath.Join(dir, "off", "southbound.yaml"),
		"settings: {deploy_timer: 0, repair_timer: \"0\"}\n")
	full := Project{Dir: filepath.Join(dir, "site"), Environment: "prod", Data: "../state",
		API: "https://example.org",
		Settings: &state.Settings{DeployTimer: "600", RepairTimer: "30 2 * * *",
			RetryBase: 2 * time.Second, RetryMax: time.Hour, KeepVersions: 5,
			KeepActions: 30*24*time.Hour + 12*time.Hour}}
	for _, c := range []struct {
		why, path string
		want      Project
	}{
		{"in the directory", "site", full},
		{"beside the file", "site/a.yaml", full},
		{"beside a file that is not there", "site/gone.yaml",
			Project{Dir: filepath.Join(dir, "site", "gone.yaml")}},
		{"none", "none", Project{Dir: filepath.Join(dir, "none")}},
		{"nothing in it", "empty", Project{Dir: filepath.Join(dir, "empty")}},
		{"0 is off", "off", Project{Dir: filepath.Join(dir, "off"),
			Settings: &state.Settings{DeployTimer: "0", RepairTimer: "0"}}},
	} {
		got, err := FindProject(filepath.Join(dir, c.path))
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
	}
}

func TestProjectProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, text string
		want      []string // line:column message | hint
	}{
		{"misspelt", "enviroment: prod\nfoo: 1\n", []string{
			`1:1: unknown member "enviroment" | did you mean "environment"?`,
			`2:1: unknown member "foo" | there are environment, data, api, defaults, settings`,
		}},
		{"resources in it", "southbound: 1\nresources: []\n", []string{
			`1:1: "southbound" does not belong into the project file | resources stand in a file of another name`,
			`2:1: "resources" does not belong into the project file | resources stand in a file of another name`,
		}},
		{"a name that is none", "environment: a/b\n", []string{
			`1:14: "a/b" cannot name an environment | use letters, digits, - and _, at most 100`}},
		{"wrong kinds", "environment: 7\ndata: [x]\napi:\nsettings: all\n", []string{
			"1:14: environment is text | put it in quotes",
			"2:7: data is text | write one text, in quotes where it holds brackets",
			"3:5: api is empty | write it, or leave it out",
			"4:11: settings is a map | write it such as {repair_timer: 3600}",
		}},
		{"strict", "settings: {strict: sometimes}\n",
			[]string{"1:20: strict is one of three words | write off, warning or error"}},
		{"settings",
			"settings:\n  deploy_timer: -1\n  repair_timer: sometimes\n  retry_base: 5\n  " +
				"retry_max: 2 weeks\n  keep_versions: 0\n  keep_actions: 40000d\n  kep: 1\n",
			[]string{
				`2:17: deploy_timer is whole seconds or a cron expression | write seconds such as 600, or five fields in UTC such as "30 2 * * *"; 0 is off`,
				`3:17: repair_timer is whole seconds or a cron expression | write seconds such as 600, or five fields in UTC such as "30 2 * * *"; 0 is off`,
				"4:15: retry_base is a length of time | write it with its units, such as 2s, 10m " +
					"or 30d",
				"5:14: retry_max is a length of time | write it with its units, such as 2s, 10m " +
					"or 30d",
				"6:18: keep_versions is a whole number from 1 to 1000000 | write it such as 100",
				"7:17: keep_actions is a length of time | write it with its units, such as 2s, 10m " +
					"or 30d",
				`8:3: unknown member "kep" | there are deploy_timer, repair_timer, retry_base, retry_max, keep_versions, keep_actions, strict`,
			}},
		{"retries that shrink", "settings: {retry_base: 1h, retry_max: 1m}\n",
			[]string{"1:39: retry_max is shorter than retry_base | make it as long or longer"}},
		{"retries that may shrink", "settings: {retry_base: 20m, retry_max: 2 weeks}\n", []string{
			"1:40: retry_max is a length of time | write it with its units, such as 2s, 10m or 30d",
		}},
		{"retries that shrink at once", "settings: {retry_base: 20m}\n",
			[]string{"1:24: retry_base is longer than retry_max, which is 10m by default | " +
				"set retry_max as well"}},
		{"two documents", "environment: a\n---\nenvironment: b\n",
			[]string{"3:1: the project file holds more than one document | keep one"}},
		{"a list", "- environment: a\n",
			[]string{
				"1:1: the project file is a map | write it such as `environment: production`"}},
		{"names twice", "environment: a\nenvironment: b\n",
			[]string{`2:1: "environment" is there twice, first at 1:1 | remove one of the two`}},
		{"no YAML", "environment: [\n",
			[]string{"1:15: this is not valid YAML: did not find expected node content | write a " +
				"value here, or close the bracket"}},
		{"not UTF-8", "environment: \xff\n",
			[]string{"1:14: the text is not UTF-8: the byte 0xff at byte 14 | save it as UTF-8"}},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "southbound.yaml")
		write(t, file, c.text)
		_, err := FindProject(dir)
		var problems diag.Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: got %v, want problems", c.why, err)
		}
		var got []string
		for _, p := range problems {
			got = append(got, strings.TrimPrefix(p.String(), file+":")+" | "+p.Hint)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
	}
	// A directory of that name is not a project file.
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "southbound.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := FindProject(dir); err == nil {
		t.Error("a directory was read as a project file")
	}
}
