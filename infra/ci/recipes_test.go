package ci

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// readYAML reads a recipe.
func readYAML(t *testing.T, name string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := yaml.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPinned demands that actions of others are pinned to commits, and that no recipe stores keys
// or gives a job more than it needs.
func TestPinned(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("github-workflow.yml")
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`uses: (\./\S+|[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+)$`)
	for _, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "uses:") && !pinned.MatchString(line) {
			t.Errorf("not pinned: %s", line)
		}
	}
	for _, name := range []string{"github-workflow.yml", "action.yml", "gitlab.yml",
		"southbound-ci.sh"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"secrets.", "AWS_SECRET", "AWS_ACCESS_KEY"} {
			if bytes.Contains(b, []byte(word)) {
				t.Errorf("%s mentions %s", name, word)
			}
		}
	}
	workflow := readYAML(t, "github-workflow.yml")
	if p, ok := workflow["permissions"].(map[string]any); !ok || len(p) > 0 {
		t.Errorf("the workflow gives %v to every job", workflow["permissions"])
	}
	for name, j := range workflow["jobs"].(map[string]any) {
		job := j.(map[string]any)
		for _, key := range []string{"permissions", "concurrency", "timeout-minutes", "if"} {
			if job[key] == nil {
				t.Errorf("job %s has no %s", name, key)
			}
		}
		cancels := job["concurrency"].(map[string]any)["cancel-in-progress"]
		if cancels != (name == "plan") {
			t.Errorf("job %s: cancel-in-progress is %v", name, cancels)
		}
		if job["permissions"].(map[string]any)["id-token"] != "write" {
			t.Errorf("job %s cannot ask for a token", name)
		}
	}
}

// TestAction runs the step of the action as the runner does: expressions are replaced by inputs,
// and the rest is the shell's.
func TestAction(t *testing.T) {
	t.Parallel()
	action := readYAML(t, "action.yml")
	step := action["runs"].(map[string]any)["steps"].([]any)[0].(map[string]any)
	j := newJob(t, map[string]string{"site/a.yaml": bad})
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	expression := regexp.MustCompile(`\$\{\{ *([\w.]+) *\}\}`)
	values := map[string]string{"inputs.command": "plan", "inputs.path": "site",
		"inputs.flags": "--exit-code  --quiet", "inputs.binary": program, "runner.temp": j.dir,
		"inputs.timeout": "1m"}
	inputs := action["inputs"].(map[string]any)
	for key, v := range step["env"].(map[string]any) {
		j.env = append(j.env,
			key+"="+expression.ReplaceAllStringFunc(v.(string), func(e string) string {
				name := expression.FindStringSubmatch(e)[1]
				if input, is := strings.CutPrefix(name, "inputs."); is && inputs[input] == nil {
					t.Errorf("the step uses %s, which is not an input", name)
				}
				return values[name]
			}))
	}
	if strings.Contains(step["run"].(string), "${{") {
		t.Error("an expression in a script is an injection")
	}
	j.env = append(j.env, "GITHUB_ACTIONS=true", "GITHUB_ACTION_PATH="+here)
	j.shellRun(2, step["shell"].(string), step["run"].(string))
	j.has("the annotations", j.stdout.String(), "::error file=site/a.yaml,line=4")
	j.has("the summary", j.file("southbound-ci/summary.md"), "**2 problems**")
}

// TestGitLabJobs runs the last line of each job's script, with the repository of the script where
// the job clones it.
func TestGitLabJobs(t *testing.T) {
	t.Parallel()
	recipe := readYAML(t, "gitlab.yml")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]int{"southbound-plan": 3, "southbound-apply": 3} {
		entry := recipe[name].(map[string]any)
		j := newJob(t, map[string]string{"docs/a.yaml": ill})
		project := filepath.Join(j.dir, "project")
		if err := os.Symlink(root, project+".southbound"); err != nil {
			t.Fatal(err)
		}
		j.env = append(j.env, "GITLAB_CI=true", "CI_PROJECT_DIR="+project, "AWS_PLAN_ROLE=p",
			"AWS_APPLY_ROLE=a", "SOUTHBOUND_PATH=docs")
		var script []string
		for _, line := range entry["script"].([]any) {
			script = append(script, line.(string))
		}
		j.shellRun(code, "sh", strings.Join(script, "\n"))
		if report := j.file("southbound-ci/gl-code-quality-report.json"); strings.Contains(report,
			"docs/a.yaml") != (code == 3) {
			t.Errorf("%s: the report is %s", name, report)
		}
		extends := recipe[entry["extends"].(string)].(map[string]any)
		if paths := slices.Collect(
			maps.Keys(
				extends["artifacts"].(map[string]any)["reports"].(map[string]any))); !slices.Contains(
			paths,
			"codequality") {
			t.Errorf("%s: the report is not an artifact", name)
		}
		if entry["interruptible"] != (name == "southbound-plan") ||
			(name == "southbound-apply" && entry["resource_group"] == nil) {
			t.Errorf("%s: interruptible is %v, its group %v", name, entry["interruptible"],
				entry["resource_group"])
		}
	}
}
