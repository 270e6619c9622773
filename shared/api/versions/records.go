package versions

import (
	"slices"
	"time"

	"southbound/shared/deploy/state"
)

// Described is a stored version with its agents.
type Described struct {
	Version
	// Agents have the form of documents.
	Agents map[string]map[string]any `json:"agents"`
}

// maxFetched is how many bytes of a file can be fetched over the API.
const maxFetched = 4 << 20

// inForce returns when each version was in force. A version comes into force when it is stored with
// a release, and when it is released later. The release of another version ends that period.
func inForce(vs []state.Version, env state.Env) map[int][]InForce {
	var all []state.Release
	for i := range vs {
		if v := &vs[i]; !v.Unreleased {
			all = append(all, state.Release{Version: v.Number, At: v.At, Author: v.Author,
				Message: v.Message})
		}
	}
	if env.Releases != nil {
		all = append(all, *env.Releases...)
	}
	slices.SortStableFunc(all, func(a, b state.Release) int { return a.At.Compare(b.At) })
	out := map[int][]InForce{}
	for i, r := range all {
		in := InForce{From: r.At.UTC(), By: r.Author, Message: r.Message}
		if i+1 < len(all) {
			to := all[i+1].At.UTC()
			in.To = &to
		}
		out[r.Version] = append(out[r.Version], in)
	}
	return out
}

func versionOf(v *state.Version, released int) Version {
	return Version{v.Number, v.At.UTC(), v.Resources, v.Number == released, v.Base > 0, v.Pack,
		v.Digest, Origin(v.Origin), []InForce{}}
}

// Version is one stored version.
type Version struct {
	Version   int       `json:"version"`
	At        time.Time `json:"at"`
	Resources int       `json:"resources"`
	Released  bool      `json:"released"`
	Partial   bool      `json:"partial"`
	Pack      string    `json:"pack"`
	Digest    string    `json:"digest"`
	Origin
	InForce []InForce `json:"in_force" doc:"periods in which it was in force, oldest first"`
}

// InForce is a period in which a version was in force.
type InForce struct {
	From    time.Time  `json:"from"`
	To      *time.Time `json:"to" doc:"end of the period; null: still in force"`
	By      string     `json:"by" doc:"author of the release"`
	Message string     `json:"message" doc:"why"`
}

// Origin is where a version comes from, for people.
type Origin struct {
	Author  string `json:"author" maxLength:"1000" doc:"author of the version"`
	Message string `json:"message" maxLength:"10000" doc:"why"`
	Commit  string `json:"commit" maxLength:"1000" doc:"commit of the documents"`
}
