// Package fs manages files, directories and symbolic links.
package fs

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Attributes that several types share.
const (
	pathType = `Pattern[/\A\/.*[^\/]\z|\A\/\z/]`
	modeType = `Optional[Pattern[/\A[0-7]{3,4}\z/]]`
)

func pathAttribute() schema.Attribute {
	return schema.Attribute{Name: "path", Type: pathType, Behaviour: schema.Namevar, Description: "where it is: an absolute path"}
}

func ownerAttributes() []schema.Attribute {
	return []schema.Attribute{
		{Name: "owner", Type: "Optional[String[1]]", Description: "the user that owns it, by name or number"},
		{Name: "group", Type: "Optional[String[1]]", Description: "the group that owns it, by name or number"},
	}
}

func modeAttribute() schema.Attribute {
	return schema.Attribute{Name: "mode", Type: modeType, Description: `permissions in octal, in quotes: "0644"`}
}

// cleanPath refuses paths that could be written in another way: the same file under two names is two resources.
func cleanPath(attrs map[string]any) []diag.Problem {
	path, _ := attrs["path"].(string)
	if filepath.Clean(path) == path {
		return nil
	}
	return []diag.Problem{{Attribute: "path", Message: fmt.Sprintf("the path %q is not in its shortest form", path), Hint: "write " + filepath.Clean(path)}}
}

// parentRelation makes a thing require the directory it is in, where that is managed.
func parentRelation(agent string, attrs map[string]any) []string {
	path, _ := attrs["path"].(string)
	if path == "" || path == "/" {
		return nil
	}
	return []string{string(idOf("fs::Directory", agent, filepath.Dir(path)))}
}

func textOf(r provider.Resource, name string) string {
	s, _ := r.Attributes[name].(string)
	return s
}

// wanted is the owner, group and mode that are asked for; -1 is not asked for.
type wanted struct{ uid, gid, mode int }

func wantedOf(r provider.Resource) (wanted, error) {
	w := wanted{-1, -1, -1}
	var err error
	if s := textOf(r, "owner"); s != "" {
		if w.uid, err = uidOf(s); err != nil {
			return w, provider.Errorf(provider.Retryable, "there is no user %q", s)
		}
	}
	if s := textOf(r, "group"); s != "" {
		if w.gid, err = gidOf(s); err != nil {
			return w, provider.Errorf(provider.Retryable, "there is no group %q", s)
		}
	}
	if s := textOf(r, "mode"); s != "" {
		n, err := strconv.ParseUint(s, 8, 32)
		if err != nil {
			return w, provider.Errorf(provider.NeedsChange, "mode %q is not octal", s)
		}
		w.mode = int(n)
	}
	return w, nil
}

func uidOf(s string) (int, error) {
	if n, err := strconv.Atoi(s); err == nil {
		return n, nil
	}
	u, err := user.Lookup(s)
	if err != nil {
		return -1, err
	}
	return strconv.Atoi(u.Uid)
}

func gidOf(s string) (int, error) {
	if n, err := strconv.Atoi(s); err == nil {
		return n, nil
	}
	g, err := user.LookupGroup(s)
	if err != nil {
		return -1, err
	}
	return strconv.Atoi(g.Gid)
}

// observe fills in owner, group and mode: as they were asked for where they are the same, so that 0 and root do not differ.
func observe(attrs map[string]any, r provider.Resource, w wanted, uid, gid uint32, mode uint32) {
	if w.uid >= 0 {
		attrs["owner"] = nameOf(textOf(r, "owner"), w.uid, int(uid), userName)
	}
	if w.gid >= 0 {
		attrs["group"] = nameOf(textOf(r, "group"), w.gid, int(gid), groupName)
	}
	if w.mode >= 0 {
		attrs["mode"] = fmt.Sprintf("%04o", mode&0o7777)
		if int(mode&0o7777) == w.mode {
			attrs["mode"] = textOf(r, "mode")
		}
	}
}

func nameOf(asked string, want, have int, name func(int) string) string {
	if want == have {
		return asked
	}
	return name(have)
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}

func groupName(gid int) string {
	if g, err := user.LookupGroupId(strconv.Itoa(gid)); err == nil {
		return g.Name
	}
	return strconv.Itoa(gid)
}

// leftover is the hidden name under which a file stands for an instant before it replaces another. It follows from the path, so the next
// run finds what a crash left behind.
func leftover(path string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(path))
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".southbound-%016x", h.Sum64()))
}

// explain gives an error of the file system a class and says what to do.
func explain(what string, err error) error {
	if err == nil {
		return nil
	}
	hint, class := "", provider.Retryable
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "; make room on the disk"
	case errors.Is(err, syscall.EROFS):
		hint, class = "; the file system is read-only", provider.Terminal
	case errors.Is(err, os.ErrPermission):
		hint, class = "; run it as a user that may, such as root", provider.Terminal
	case errors.Is(err, syscall.ENOTDIR):
		hint, class = "; something above it is not a directory", provider.NeedsChange
	case errors.Is(err, os.ErrNotExist):
		hint = "; describe the directory above it, too"
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.EEXIST):
		hint, class = "; it is not empty: set recurse_purge to remove what is in it", provider.NeedsChange
	case errors.Is(err, syscall.ENAMETOOLONG):
		class = provider.NeedsChange
	}
	return provider.Errorf(class, "%s: %w%s", what, err, hint)
}
