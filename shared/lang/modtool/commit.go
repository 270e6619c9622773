package modtool

import (
	"context"
	"strconv"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/lang/pep440"
)

// CommitOptions configure Commit.
type CommitOptions struct {
	Message string
	Release bool
	Bump    Bump
	Version string // an explicit version, instead of the next one
	All     bool
	Tag     bool // also a development release
	NoTag   bool // not even a release
	Now     time.Time
}

// Commit commits the staged files of the module in the folder under the next version: a development
// release, or a release, which is tagged.
func (t *Tool) Commit(ctx context.Context, o CommitOptions) error {
	if strings.TrimSpace(o.Message) == "" {
		return fault.New(fault.Usage, "commit the module", "there is no message").
			WithHint("-m \"summary of the changes\"")
	}
	r := releases{t.folder(), t.Say}
	m, released, err := r.open(ctx, true, o.Release)
	if err != nil {
		return err
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	version, err := committed(m.Version(), o)
	if err != nil {
		return err
	}
	own := m.Version()
	again := version.Compare(own) == 0 && o.Release && !own.IsDev()
	if again || own.Compare(version) > 0 {
		return fault.New(fault.Conflict, "commit the module",
			"the version %s is not after %s, which is there", version, own)
	}
	for _, v := range released { // a release of an older branch may precede others
		if v.Compare(own) > 0 && v.Compare(version) <= 0 || v.Compare(version) == 0 {
			return fault.New(fault.Conflict, "commit the module",
				"the version %s is not after %s, which is released", version, v).
				WithHint("update the branch from the server, or name another version")
		}
	}
	ro := ReleaseOptions{All: o.All, Now: o.Now}
	if err := r.commit(ctx, m, version, o.Message, ro, o.Release); err != nil {
		return err
	}
	t.Say("%s %s is committed", m.Name, version)
	if o.NoTag || !o.Release && !o.Tag {
		return nil
	}
	_, err = git(ctx, m.Dir, "tag", "-a", "-m", o.Message, "--", version.String())
	return err
}

// committed returns the version of the commit, which follows the given version.
func committed(version pep440.Version, o CommitOptions) (pep440.Version, error) {
	if o.Version != "" {
		v, err := pep440.Parse(o.Version)
		if err != nil {
			return v, fault.Wrap(fault.Usage, "commit the module", err)
		}
		if o.Release && v.IsDev() {
			return v, fault.New(
				fault.Usage,
				"commit the module",
				"%s is not the version of a release",
				v,
			)
		}
		return v, nil
	}
	base := version.Base()
	if !version.IsDev() {
		switch {
		case o.Bump != NoBump:
			next, err := raised(version, o.Bump)
			if err != nil {
				return version, err
			}
			base = next.Base()
		case o.Release:
			return version, fault.New(fault.Usage, "commit the module", "%s is released already",
				version).
				WithHint("add --major, --minor or --patch")
		default:
			next, err := raised(version, Patch)
			if err != nil {
				return version, err
			}
			base = next.Base()
		}
	}
	if o.Release {
		return base, nil
	}
	return pep440.Parse(base.String() + ".dev" + strconv.FormatInt(o.Now.Unix(), 10))
}
