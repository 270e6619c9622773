package disk

import (
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

const (
	MaxName   = 255  // bytes of a name in a directory
	MaxTarget = 4096 // bytes of a symbolic link's target
	maxPrefix = 200  // bytes of a name that its hidden name repeats
)

// Shown returns a name for people: bytes that are not UTF-8 are escaped as \xe9, so that distinct
// names stay distinct.
func Shown(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	var b strings.Builder
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, name[0])
		} else {
			b.WriteString(name[:n])
		}
		name = name[n:]
	}
	return b.String()
}

// Split returns the directory of a path and its name in it; the root is "." in itself.
func Split(path string) (dir, base string) {
	i := strings.LastIndexByte(path, '/')
	switch {
	case path == "/":
		return "/", "."
	case i < 0:
		return "", ""
	case i == 0:
		return "/", path[1:]
	}
	return path[:i], path[i+1:]
}

// Place splits the path of a thing, and rejects paths that are not absolute and in their shortest
// form.
func Place(path string) (dir, base string, err error) {
	dir, base = Split(path)
	if base == "" || filepath.Clean(path) != path || strings.IndexByte(path, 0) >= 0 {
		return "", "", provider.Errorf(provider.NeedsChange,
			"%q is not an absolute path in its shortest form", path)
	}
	return dir, base, nil
}

// Leftover is the hidden name, beside base, of a thing until it is renamed to base. It is derived
// from base, so the next run finds the remains of a crash.
func Leftover(base string) string {
	sum := crc32.ChecksumIEEE([]byte(base))
	if len(base) > maxPrefix {
		n := maxPrefix
		for !utf8.RuneStart(base[n]) && n > 0 {
			n--
		}
		base = base[:n]
	}
	const digits = "0123456789abcdef"
	b := make([]byte, 0, MaxName)
	b = append(b, '.')
	b = append(b, base...)
	b = append(b, leftoverMark...)
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, digits[sum>>shift&0xf])
	}
	return string(b)
}

// leftoverMark separates the repeated name in a hidden name from its checksum of eight digits.
const leftoverMark = ".southbound-"

// isLeftover reports whether a name has the form of Leftover.
func isLeftover(name string) bool {
	return len(name) > len(leftoverMark)+8 && name[0] == '.' &&
		name[len(name)-8-len(leftoverMark):len(name)-8] == leftoverMark
}

// KindOf returns the kind of a thing as text.
func KindOf(st *unix.Stat_t) string {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "a regular file"
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFIFO:
		return "a named pipe"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "a device"
	}
	return "a socket"
}

// Join returns the path of a name in a directory.
func Join(dir, name string) string {
	if dir == "/" {
		return dir + name
	}
	return dir + "/" + name
}
