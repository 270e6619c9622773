package git

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// scene is a remote, a checkout of it, and a person who works in the checkout.
type scene struct {
	t        *testing.T
	rng      *rand.Rand
	rig      *rig
	upstream []string // the remote, its submodule, and a copy of the remote
	path     string
	attrs    map[string]any
	written  map[string]string // what the person has written, by path
	did      []string
	cut      bool // a run was cut off before
	n        int
}

// remotes makes a remote with a submodule, that, and a copy of the remote, which scenes copy.
func remotes(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"inner", "source"} {
		if err := os.Rename(origin(t), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	source := dir + "/source"
	write(t, source+"/.gitignore", "*.log\nign\n")
	run(t, source, "add", ".")
	run(t, source, "-c", "remote.origin.url="+source, "submodule", "--quiet", "add", "../inner", "sub")
	run(t, source, "commit", "-qm", "with a submodule")
	run(t, "/", "clone", "-q", source, dir+"/fork")
	run(t, dir+"/fork", "branch", "-q", "--no-track", "dev", "origin/dev")
	return dir
}

func newScene(t *testing.T, remotes string, seed uint64) *scene {
	s := &scene{t: t, rng: rand.New(rand.NewPCG(seed, 1)), rig: newRig(t), written: map[string]string{},
		path: filepath.Join(t.TempDir(), "x")}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(remotes)); err != nil {
		t.Fatal(err)
	}
	source := dir + "/source"
	s.upstream = []string{source, dir + "/inner", dir + "/fork"}
	s.attrs = map[string]any{"path": s.path, "source": source, "revision": pick(s, "main", "main",
		"dev", "v1", "v2", run(t, source, "rev-parse", "main~1")),
		"submodules": pick(s, true, true, false), "local": "discard"}
	if s.rng.IntN(8) == 0 {
		s.attrs = map[string]any{"path": s.path, "source": source, "bare": true, "local": "discard"}
	}
	if _, err := s.rig.Apply(s.attrs, false); err != nil {
		t.Fatal(err)
	}
	return s
}

func pick[T any](s *scene, of ...T) T { return of[s.rng.IntN(len(of))] }

// name is one that the person or the remote may use; they get into each other's way.
func (s *scene) name() string {
	return pick(s, "a", "b/c", "b/d", "new", "new/x", "k.log", "d/k.log", "d", "ign/x/y", "ign", "e/f/g",
		"sub/h", "a.log")
}

func (s *scene) text() string { s.n++; return fmt.Sprintf("text %d %d\n", s.n, s.rng.Uint32()) }

// git runs git for the person, who may want what cannot be done.
func (s *scene) git(dir string, args ...string) string {
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "protocol.file.allow=always", "-c",
		"user.name=P", "-c", "user.email=p@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_EDITOR=true")
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

// put writes a file of the person, where there is room for it.
func (s *scene) put(dir, name string) bool {
	path, text := filepath.Join(dir, name), s.text()
	_ = os.MkdirAll(filepath.Dir(path), 0o755)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return false
	}
	s.written[path] = text
	return true
}

// act is one thing that the person does in a working tree.
func (s *scene) act(dir string) {
	name := s.name()
	commit := func() {
		s.put(dir, name)
		s.git(dir, "add", "-f", name)
		s.git(dir, "commit", "-qm", s.text())
	}
	acts := map[string]func(){
		"write":  func() { s.put(dir, name) },
		"write2": func() { s.put(dir, pick(s, "k.log", "ign", "ign/x/y", "new", "notes")) },
		"stage":  func() { s.put(dir, name); s.git(dir, "add", "-f", name) },
		"stage and change": func() {
			s.put(dir, name)
			s.git(dir, "add", "-f", name)
			s.put(dir, name)
		},
		"stage and take back": func() { s.put(dir, name); s.git(dir, "add", "-f", name); s.git(dir, "reset", "-q") },
		"commit":              commit,
		"detach and commit":   func() { s.git(dir, "checkout", "-q", "--detach"); commit() },
		"commit and leave": func() {
			s.git(dir, "checkout", "-q", "--detach")
			commit()
			s.git(dir, "checkout", "-q", pick(s, "main", "-", "v1"))
		},
		"commit and reset": func() { commit(); s.git(dir, "reset", "-q", "--hard", "HEAD~1") },
		"amend":            func() { s.git(dir, "commit", "-q", "--amend", "-m", s.text()) },
		"stash":            func() { s.put(dir, name); s.git(dir, "stash", "push", "-q", "-u") },
		"branch":           func() { s.git(dir, "checkout", "-q", "-b", pick(s, "mine", "dev")); commit() },
		"branch and delete": func() {
			s.git(dir, "checkout", "-qb", "gone")
			commit()
			s.git(dir, "checkout", "-q", "-")
			s.git(dir, "branch", "-D", "gone")
		},
		"tag":       func() { s.git(dir, "tag", "-f", "-am", s.text(), pick(s, "v1", "v9")) },
		"light tag": func() { s.git(dir, "tag", "-f", pick(s, "v1", "v8"), "HEAD") },
		"object": func() {
			path := filepath.Join(s.t.TempDir(), "o")
			write(s.t, path, s.text())
			s.git(dir, "hash-object", "-w", path)
		},
		"working tree": func() { s.git(dir, "worktree", "add", "-q", "--detach", filepath.Join(s.t.TempDir(), "w")) },
		"repository": func() {
			in := filepath.Join(dir, pick(s, "d", "new", "ign", "e/f"))
			if os.MkdirAll(in, 0o755) == nil && s.put(in, "inner") {
				s.git(in, "init", "-q")
				s.git(in, "add", ".")
				s.git(in, "commit", "-qm", s.text())
			}
		},
		"hide": func() {
			s.git(dir, "update-index", pick(s, "--assume-unchanged", "--skip-worktree"), "a")
			s.put(dir, "a")
		},
		"note":   func() { s.git(dir, "notes", "add", "-m", s.text()) },
		"delete": func() { _ = os.Remove(filepath.Join(dir, name)) },
		"switch": func() { s.git(dir, "checkout", "-q", pick(s, "main", "dev", "v1")) },
	}
	what := pick(s, slices.Sorted(maps.Keys(acts))...)
	s.did = append(s.did, what+" "+name+" in "+filepath.Base(dir))
	acts[what]()
}

// bareAct is one thing that a person does to a bare repository: a push, or what only it can do.
func (s *scene) bareAct() {
	clone := filepath.Join(s.t.TempDir(), "clone")
	s.git("/", "clone", "-q", s.path, clone)
	s.git(clone, "checkout", "-q", "-B", pick(s, "main", "mine", "dev"))
	s.git(clone, "commit", "-q", "--allow-empty", "-m", s.text())
	what := pick(s, "push", "tag", "object")
	s.did = append(s.did, what)
	switch what {
	case "push":
		s.git(clone, "push", "-qf", "origin", "HEAD")
	case "tag":
		s.git(clone, "tag", "-f", "-am", s.text(), pick(s, "v1", "v9"))
		s.git(clone, "push", "-qf", "--tags", "origin")
	case "object":
		write(s.t, clone+"/o", s.text())
		s.git(s.path, "hash-object", "-w", clone+"/o")
	}
}

// move has the remote move on.
func (s *scene) move() {
	for range s.rng.IntN(4) {
		dir := s.upstream[s.rng.IntN(len(s.upstream))]
		switch name := s.name(); s.rng.IntN(7) {
		case 0:
			s.git(dir, "reset", "-q", "--hard", "HEAD~1")
		case 1:
			s.git(dir, "tag", "-f", pick(s, "v1", "v2", "v9"), "HEAD")
		case 2:
			s.git(dir, "rm", "-qrf", pick(s, "sub", "b", "a"))
			s.git(dir, "commit", "-qm", s.text())
		case 3:
			s.git(dir, "branch", "-qf", "dev", "HEAD")
		default:
			path := filepath.Join(dir, name)
			s.git(dir, "rm", "-qrf", "--ignore-unmatch", name)
			for up := filepath.Dir(name); up != "."; up = filepath.Dir(up) {
				if info, err := os.Lstat(filepath.Join(dir, up)); err == nil && !info.IsDir() {
					s.git(dir, "rm", "-qf", up)
				}
			}
			_ = os.MkdirAll(filepath.Dir(path), 0o755)
			_ = os.WriteFile(path, []byte(s.text()), 0o644)
			s.git(dir, "add", "-f", name)
			s.git(dir, "commit", "-qm", s.text())
		}
	}
}

// state is what the person has in the checkout.
type state struct {
	files       map[string]string
	objects     map[string]bool // which the remotes never had
	unreachable map[string]bool
	tags        map[string]string // which the remotes have not
}

func (s *scene) state() state {
	out := state{map[string]string{}, map[string]bool{}, map[string]bool{}, map[string]string{}}
	for path, text := range s.written {
		if data, err := os.ReadFile(path); err == nil && string(data) == text {
			out.files[path] = text
		}
	}
	theirs, tags := map[string]bool{}, map[string]bool{}
	for _, dir := range s.upstream {
		for _, id := range strings.Fields(s.git(dir, "cat-file", "--batch-all-objects",
			"--batch-check=%(objectname)")) {
			theirs[id] = true
		}
		for line := range strings.Lines(s.git(dir, "for-each-ref", "refs/tags")) {
			tags[strings.TrimSpace(line)] = true
		}
	}
	_ = filepath.WalkDir(s.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "HEAD" || !isRepository(filepath.Dir(path)) {
			return nil
		}
		dir := filepath.Dir(path)
		git := func(args ...string) string {
			return s.git(dir, append([]string{"--git-dir=" + dir, "--work-tree=" + dir}, args...)...)
		}
		for _, id := range strings.Fields(git("cat-file", "--batch-all-objects",
			"--batch-check=%(objectname)")) {
			out.objects[id] = out.objects[id] || !theirs[id]
		}
		for line := range strings.Lines(git("fsck", "--unreachable", "--no-progress")) {
			if f := strings.Fields(line); len(f) == 3 && !theirs[f[2]] {
				out.unreachable[f[2]] = true
			}
		}
		for line := range strings.Lines(git("for-each-ref", "refs/tags")) {
			if line = strings.TrimSpace(line); !tags[line] {
				out.tags[dir+" "+line] = line
			}
		}
		return nil
	})
	maps.DeleteFunc(out.objects, func(_ string, own bool) bool { return !own })
	return out
}

// lost compares what the person had with what the person has.
func lost(before, after state) []string {
	var out []string
	for path, text := range before.files {
		// what was committed is in the repository
		blob := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text)))
		committed := after.objects[blob] && !after.unreachable[blob]
		if _, is := after.files[path]; !is && !committed {
			out = append(out, "the file "+path)
		}
	}
	for id := range before.objects {
		if !after.objects[id] {
			out = append(out, "the object "+id)
		} else if after.unreachable[id] && !before.unreachable[id] {
			out = append(out, "what leads to the object "+id)
		}
	}
	for tag := range before.tags {
		if _, is := after.tags[tag]; !is {
			out = append(out, "the tag "+tag)
		}
	}
	return out
}

// change asks for something else, and returns what a plan says of it and what came of it.
func (s *scene) change(purged bool) (planned, err error) {
	full, problems := s.rig.Type.Check(s.attrs)
	if len(problems) > 0 {
		s.t.Fatal(problems)
	}
	r := provider.Resource{Attributes: full, Purged: purged}
	dry := s.rig.Host.Context(s.t.Context(), provider.Options{DryRun: true})
	obs, err := s.rig.Handler.Read(dry, provider.ReadRequest{Resource: r})
	if err != nil {
		return nil, err
	}
	changes, err := s.rig.h.Diff(dry, r, obs)
	if err != nil {
		s.t.Fatal(err)
	}
	what := diff.Updated
	if purged {
		what = diff.Purged
	}
	if purged && obs.Exists || len(changes) > 0 {
		planned = s.rig.h.Noop(dry, provider.BatchChange{Context: dry, Change: what, Resource: r,
			Changes: changes})
	}
	_, err = s.rig.Apply(s.attrs, purged)
	return planned, err
}

// next draws what is asked for next.
func (s *scene) next(local string) (purged bool) {
	s.attrs["local"] = local
	source := s.upstream[0]
	if s.rng.IntN(5) == 0 {
		source = s.upstream[2]
	}
	s.attrs["source"] = source
	if s.attrs["bare"] == nil {
		s.attrs["revision"] = pick(s, "main", "main", "dev", "v1", "v2",
			run(s.t, source, "rev-parse", "main"))
		s.attrs["submodules"] = pick(s, true, false)
		if s.rng.IntN(8) == 0 {
			s.attrs["depth"] = int64(1)
		}
		s.attrs["update"] = s.rng.IntN(6) > 0
	}
	return s.rng.IntN(3) == 0
}

// lostSeeds is how many seeds are drawn; SEEDS=from-to draws others.
const lostSeeds = 12

// TestNothingIsLost has a person work in a checkout, and then asks for something else: whatever the
// person has there is there afterwards, unless local is discard, and a plan says what is refused.
func TestNothingIsLost(t *testing.T) {
	refused, kept, from, to := 0, 0, uint64(0), uint64(lostSeeds)
	_, _ = fmt.Sscanf(os.Getenv("SEEDS"), "%d-%d", &from, &to)
	proto := remotes(t)
	for seed := from; seed < to; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newScene(t, proto, seed)
			s.cutOff(rand.New(rand.NewPCG(seed, 2)))
			for range s.rng.IntN(4) {
				if s.attrs["bare"] != nil {
					s.bareAct()
					continue
				}
				dir := s.path
				if _, err := os.Lstat(s.path + "/sub/.git"); err == nil && s.rng.IntN(3) == 0 {
					dir += "/sub"
				}
				s.act(dir)
			}
			s.move()
			local := pick(s, "refuse", "refuse", "keep", "discard")
			before := s.state()
			purged := s.next(local)
			planned, err := s.change(purged)
			after := s.state()
			about := fmt.Sprintf("cut off %t, %v, then %v, purged %t: planned %v, done %v", s.cut, s.did, s.attrs, purged, planned, err)
			if local == "discard" {
				s.discarded(purged, err, about)
				return
			}
			if gone := lost(before, after); len(gone) > 0 {
				t.Fatalf("%s:\nlost %q", about, gone)
			}
			if err == nil && len(s.did) == 0 {
				s.clean(purged, about)
			}
			isRefused := err != nil && provider.ClassOf(err) == provider.NeedsChange
			told := s.attrs["depth"] == nil && (err == nil || isRefused)
			if told && isRefused != (planned != nil) {
				t.Fatalf("%s: the plan differs", about)
			}
			if len(s.did) == 0 && isRefused {
				t.Fatalf("%s: nobody has done anything there", about)
			}
			if isRefused {
				refused++
			} else if err == nil && len(s.did) > 0 {
				kept++
			}
		})
	}
	if to-from >= lostSeeds && (refused < lostSeeds/10 || kept < lostSeeds/10) {
		t.Errorf("%d changes were refused, and %d kept what a person had done", refused, kept)
	}
}

// discarded expects that the remote's files replace the person's.
func (s *scene) discarded(purged bool, err error, about string) {
	if err != nil {
		s.t.Fatalf("%s: discard is refused", about)
	}
	if _, err := os.Lstat(s.path); purged != (err != nil) {
		s.t.Fatalf("%s: %v", about, err)
	}
	s.clean(purged, about)
}

// clean expects that no tracked file is changed.
func (s *scene) clean(purged bool, about string) {
	s.t.Helper()
	if purged || s.attrs["bare"] != nil {
		return
	}
	if out := s.git(s.path, "status", "--porcelain", "--untracked-files=no",
		"--ignore-submodules=all"); out != "" {
		s.t.Fatalf("%s: left %s", about, out)
	}
}

// cutOff has the remote grow, and a run follow it that a crash or a full disk cuts off.
func (s *scene) cutOff(rng *rand.Rand) {
	if s.cut = rng.IntN(2) == 0; !s.cut {
		return
	}
	for range 1 + rng.IntN(3) {
		dir := s.upstream[rng.IntN(2)]
		name := []string{"a", "b/c", "new", "d/k.log", "z"}[rng.IntN(5)]
		s.git(dir, "rm", "-qrf", "--ignore-unmatch", name)
		_ = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		_ = os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat(s.text(), rng.IntN(400))), 0o644)
		s.git(dir, "add", "-f", name)
		s.git(dir, "commit", "-qm", s.text())
		s.git(s.upstream[0], "submodule", "--quiet", "update", "--remote")
		s.git(s.upstream[0], "commit", "-qam", s.text())
	}
	if s.attrs["bare"] == nil {
		s.attrs["revision"] = []string{"main", "main", "dev"}[rng.IntN(3)]
		s.attrs["local"] = []string{"refuse", "keep", "discard"}[rng.IntN(3)]
	}
	if rng.IntN(2) == 0 {
		limited(s.t, 1+rng.IntN(8), func() { _, _ = s.rig.Apply(s.attrs, false) })
		return
	}
	crash, steps := errors.New("crash"), 1+rng.IntN(8)
	s.rig.h.before = func([]string) error {
		if steps--; steps < 0 {
			return crash
		}
		return nil
	}
	s.rig.Handler = s.rig.h
	_, _ = s.rig.Apply(s.attrs, false)
	s.rig.h.before = nil
	s.rig.Handler = s.rig.h
}
