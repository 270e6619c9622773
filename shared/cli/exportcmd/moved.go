package exportcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/diffview"
	"southbound/shared/fault"
	"southbound/shared/platform"
	"southbound/shared/resource"
)

// moved rejects a plan whose actions would differ from those shown, and lists the differences.
func moved(k *api.Kept, now previewed) error {
	var problems diag.Problems
	say := func(id resource.ID, format string, args ...any) {
		problems.Add(diag.Problem{Resource: string(id), Message: fmt.Sprintf(format, args...)})
	}
	if now.at.Last != k.Last {
		say("", "version %d is the last one; it was version %d", now.at.Last, k.Last)
	}
	if now.at.Released != k.Released {
		say("", "version %d is in force; it was version %d", now.at.Released, k.Released)
	}
	differences(k.Planned, now.planned, say)
	if now.state == k.Export.Expect && len(problems) == 0 {
		return nil
	}
	if here := platform.Build(); here != k.Program {
		say("", "another build of the program made the plan: %s, and this is %s", k.Program, here)
	}
	if len(problems) == 0 {
		say("", "a secret, the program that deploys, or the last deployed state of resources has "+
			"changed, though the plan looks the same")
	}
	return &fault.Error{Kind: fault.Refused, Err: problems.Err(),
		Message: "the state or a machine has changed since " +
			k.Made.Format(time.RFC3339) + "; nothing was done",
		Hint: "make the plan again: `southbound plan PATH --out FILE`"}
}

// begun reports whether a plan was exported before, and nothing else since: the command that
// applied it may have been killed.
func begun(k *api.Kept, at api.Progress) bool {
	fresh := at.Last == k.Last+1
	return at.Applied != "" && at.Applied == k.Export.Expect && max(at.Released, at.Releasing) == at.Last &&
		(fresh || at.Last == k.Last && at.Scheduled > 0)
}

// differences reports the resources whose planned actions differ from those shown.
func differences(
	shown, now []deploy.PlannedChange,
	say func(id resource.ID, format string, args ...any),
) {
	byID := make(map[resource.ID]*deploy.PlannedChange, len(shown))
	for i := range shown {
		byID[shown[i].ID] = &shown[i]
	}
	for i := range now {
		w := &now[i]
		was := byID[w.ID]
		delete(byID, w.ID)
		switch {
		case was == nil && w.Action == "none":
		case was == nil:
			say(w.ID, "not in the plan; now: %s", became(w))
		case became(was) != became(w):
			say(w.ID, "in the plan: %s; now: %s", became(was), became(w))
		case !sameChanges(was, w):
			say(w.ID, "%s, but with other differences than the plan shows", became(w))
		case was.Seen != w.Seen:
			say(w.ID, "%s, but the real thing has changed since the plan was made", became(w))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		if byID[id].Action != "none" {
			say(id, "in the plan: %s; now: nothing", became(byID[id]))
		}
	}
}

// became describes a planned action in words.
func became(w *deploy.PlannedChange) string {
	switch {
	case w.Failed:
		return "it would fail, or cannot be read"
	case w.CreateFirst:
		return "replace (create before destroy)"
	case w.Replace:
		return "replace"
	case w.Action == "none":
		return "as it is"
	}
	return w.Action
}

// sameChanges reports whether two planned changes have equal differences. One of them may have come
// from a file or a server, so both are compared in their serialized form.
func sameChanges(a, b *deploy.PlannedChange) bool {
	if len(a.Changes)+len(b.Changes) == 0 {
		return true
	}
	one, err1 := json.Marshal(hashed(a.Changes))
	two, err2 := json.Marshal(hashed(b.Changes))
	return err1 == nil && err2 == nil && bytes.Equal(one, two)
}

// hashed returns differences without the texts of files whose hashes are also compared: whether the
// texts could be read makes no difference.
func hashed(changes map[string]diff.Diff) map[string]diff.Diff {
	out := maps.Clone(changes)
	for name, d := range out {
		_, _, one := diffview.File(d.Current)
		_, _, other := diffview.File(d.Desired)
		if one && other {
			d.Unified = ""
			out[name] = d
		}
	}
	return out
}
