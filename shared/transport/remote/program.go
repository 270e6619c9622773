package remote

import (
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"southbound/shared/fault"
)

// Programs are the programs that can be uploaded to machines: this program for machines like this
// one, and others from a directory. The zero value has only this program. It is safe for concurrent
// use.
type Programs struct {
	// Self is the path of this program; "" means the running file.
	Self string
	// Dir holds programs for other machines, named southbound-OS-ARCH as in southbound-linux-arm64;
	// "" means none.
	Dir string

	once sync.Once
	list []program
	err  error
}

// program is one file that can be uploaded to machines.
type program struct {
	os, arch string // as Go names them
	path     string
	hash     string // SHA-256
	size     int64
}

// all returns the programs, hashed once. The program of this machine comes first, unless the
// directory has one for it.
func (p *Programs) all() ([]program, error) {
	p.once.Do(func() { p.list, p.err = p.find() })
	return p.list, p.err
}

func (p *Programs) find() ([]program, error) {
	var out []program
	if p.Dir != "" {
		names, err := fs.Glob(os.DirFS(p.Dir), "southbound-*-*")
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, "find programs", err)
		}
		slices.Sort(names)
		for _, name := range names {
			parts := strings.Split(name, "-")
			if len(parts) != 3 {
				continue
			}
			one, err := hashed(filepath.Join(p.Dir, name), parts[1], parts[2])
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
	}
	if slices.ContainsFunc(out, func(o program) bool {
		return o.os == runtime.GOOS && o.arch == runtime.GOARCH
	}) {
		return out, nil
	}
	self := p.Self
	if self == "" {
		self = "/proc/self/exe" // the running file, even if another has replaced it at its path
		if _, err := os.Stat(self); err != nil {
			if self, err = os.Executable(); err != nil {
				return nil, fault.Wrap(fault.Unsupported, "find this program", err)
			}
		}
	}
	one, err := hashed(self, runtime.GOOS, runtime.GOARCH)
	return append(out, one), err
}

func hashed(path, goos, arch string) (program, error) {
	f, err := os.Open(path)
	if err != nil {
		return program{}, fault.Wrap(fault.NotFound, "read program", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return program{}, fault.Wrap(fault.Invalid, "read program",
			&fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid})
	}
	if err := fits(f, path, arch); err != nil {
		return program{}, err
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return program{}, fault.Wrap(fault.Unavailable, "read program", err)
	}
	return program{os: goos, arch: arch, path: path, hash: hex.EncodeToString(h.Sum(nil)), size: n},
		nil
}

// fits checks that an ELF file is for the processor in its name. A file in another format may be a
// script.
func fits(f io.ReaderAt, path, arch string) error {
	e, err := elf.NewFile(f)
	want, known := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64,
		"386": elf.EM_386, "arm": elf.EM_ARM, "riscv64": elf.EM_RISCV,
		"ppc64le": elf.EM_PPC64, "s390x": elf.EM_S390, "loong64": elf.EM_LOONGARCH}[arch]
	if err != nil || !known || e.Machine == want {
		return nil
	}
	return fault.New(fault.Invalid, "read program",
		"%s is for %s by its name, and for %s by its contents", path, arch,
		strings.TrimPrefix(e.Machine.String(), "EM_")).
		WithHint("build it by `GOOS=linux GOARCH=%s CGO_ENABLED=0 go build`", arch)
}

// systems and machines map Go's names to those of uname, where they differ.
func systems() map[string]string {
	return map[string]string{"linux": "Linux", "darwin": "Darwin", "freebsd": "FreeBSD",
		"openbsd": "OpenBSD", "netbsd": "NetBSD"}
}

func machines() map[string][]string {
	return map[string][]string{"amd64": {"x86_64", "amd64"}, "arm64": {"aarch64", "arm64"},
		"386": {"i386", "i486", "i586", "i686"},
		"arm": {"armv6l", "armv7l", "armv8l"}, "riscv64": {"riscv64"}, "ppc64le": {"ppc64le"},
		"s390x": {"s390x"}, "loong64": {"loongarch64"}}
}

// uname returns the names in uname of the machines for which a program is built.
func (p program) uname() []string {
	system, ok := systems()[p.os]
	if !ok {
		return nil
	}
	var out []string
	for _, machine := range machines()[p.arch] {
		out = append(out, system+" "+machine)
	}
	return out
}

// platform returns Go's names for a machine, from its names in uname; "" if Go does not know it.
func platform(uname string) (goos, arch string) {
	for goos := range systems() {
		for arch := range machines() {
			if slices.Contains((program{os: goos, arch: arch}).uname(), uname) {
				return goos, arch
			}
		}
	}
	return "", ""
}

// The scripts are run by a POSIX shell, on one line and without single quotes, so that any login
// shell passes them on. $d is the directory.

// checkDir creates the directory, and rejects one to which other users may write.
const checkDir = `d=%s; (umask 077; mkdir -p "$d") || exit 73; ` +
	`if [ -L "$d" ] || ! [ -O "$d" ]; then echo "$d is not a directory of the user" >&2; exit 77; fi; ` +
	`case $(ls -ld "$d") in drwx------*) ;; *) echo "$d can be read or written by others" >&2; exit 77;; esac; `

// sum sets $s to the SHA-256 of $1, or to the expected one if the machine has no such tool.
const sumFunction = `sum() { if command -v sha256sum >/dev/null 2>&1; then s=$(sha256sum < "$1"); elif command -v shasum >/dev/null 2>&1; then s=$(shasum -a 256 < "$1"); ` +
	`elif command -v openssl >/dev/null 2>&1; then s=$(openssl dgst -sha256 -r < "$1"); else s=$2; fi; s=${s%%%% *}; }; `

// defaultDir is the directory of uploaded programs.
const defaultDir = `"${XDG_CACHE_HOME:-$HOME/.cache}/southbound/remote"`

func dirWord(dir string) string {
	if dir == "" {
		return defaultDir
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(dir) + `"`
}

// tidyUploads removes the remains of uploads: of processes that have ended, and of earlier uploads
// of the same client. It ends a shell of such an upload that still waits for the rest after its
// connection was cut unnoticed.
const tidyUploads = `for u in "$d"/.upload.*; do [ -f "$u" ] || continue; p=${u##*.}; a=$({ cat "/proc/$p/cmdline" || ps -p "$p" -o args=; } 2>/dev/null | tr "\0" " "); ` +
	`case $a in *southbound-remote*) case $u in *.upload.%s.*) kill "$p" 2>/dev/null;; *) continue;; esac;; esac; rm -f "$u"; done; `

// startScript starts the program if it exists and is complete, and otherwise prints the kind of
// machine for which it needs one.
func startScript(programs []program, dir, mine string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "m=$(uname -sm); h=; case $m in ")
	for _, p := range programs {
		if names := p.uname(); len(names) > 0 {
			fmt.Fprintf(&b, `"%s") h=%s; n=%d;; `, strings.Join(names, `"|"`), p.hash, p.size)
		}
	}
	fmt.Fprintf(&b, `esac; z=plain; command -v gzip >/dev/null 2>&1 && z=gzip; `)
	fmt.Fprintf(&b, `if [ -z "$h" ]; then echo "southbound-remote unknown $m"; exit 0; fi; `)
	fmt.Fprintf(&b, checkDir+tidyUploads+sumFunction, dirWord(dir), nobodys(mine))
	b.WriteString(
		`f=$d/southbound-$h; if [ -f "$f" ] && [ -x "$f" ] && [ "$(($(wc -c < "$f")))" = "$n" ] && { sum "$f" "$h"; [ "$s" = "$h" ]; }; then ` +
			`touch -c "$f"; cd /; exec "$f" remote; fi; echo "southbound-remote need $h $z"`)
	return b.String()
}

// nobodys returns a name that no client has if mine is empty.
func nobodys(mine string) string { return cmp.Or(mine, "0") }

// uploadScript receives a program and puts it where startScript finds it. Only a complete file gets
// the program's name; a file of another client with that name is identical. Programs that were not
// started for a month are removed. The receiving process runs beside the shell, which can thus be
// ended while it waits; the shell's number is in the name of the file.
func uploadScript(p program, dir string, gzip bool, mine string) string {
	unpack := "cat"
	if gzip {
		unpack = "gzip -dc"
	}
	return fmt.Sprintf(checkDir+sumFunction, dirWord(dir)) +
		fmt.Sprintf(
			`h=%s; umask 077; t=$d/.upload.%s.$$; c=; trap "exit 1" HUP INT TERM PIPE; trap "rm -f \"\$t\"; [ -z \"\$c\" ] || kill \$c 2>/dev/null" EXIT; `, p.hash, nobodys(mine)) +
		`rm -f "$t"; true > "$t" || exit 73; exec 3<&0; echo "southbound-remote ready"; ` + unpack +
		` <&3 > "$t" & c=$!; wait $c || exit 74; c=; sum "$t" "$h"; ` +
		fmt.Sprintf(
			`if [ "$s" != "$h" ] || [ "$(($(wc -c < "$t")))" != %d ]; then echo "the received program differs from the sent one" >&2; exit 74; fi; `, p.size) +
		`chmod 700 "$t" && sync "$t" 2>/dev/null; mv -f "$t" "$d/southbound-$h" || exit 74; ` +
		`find "$d" -type f -name "southbound-*" -mtime +30 -exec rm -f {} + 2>/dev/null; ` +
		`echo "southbound-remote uploaded"`
}

// Quote quotes any text as one word of a shell.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
