// Package sops reads values of files that sops has encrypted for age recipients.
//
// The library of sops brings the clients of five clouds. This package reads the documented format:
// a data key, encrypted for each recipient, which encrypts each value with AES-256-GCM, bound to its
// place, and a code over all values (MAC), which is always checked.
package sops

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"southbound/shared/fault"
)

const (
	op = "read the secret of sops"
	// maxAge is how long decrypted values stay in memory.
	maxAge = 5 * time.Minute
	// maxFiles bounds the number of files that stay decrypted.
	maxFiles = 100
)

// Reader reads values. Any number of goroutines may use it.
type Reader struct {
	// File returns the content of a file.
	File func(path string) (string, error)

	mu     sync.Mutex
	opened map[string]opened
}

// opened is a decrypted file.
type opened struct {
	sum  [sha256.Size]byte // of the encrypted file and of the keys
	root branch
	at   time.Time
}

// Read returns the value of a name: FILE#KEY or FILE#KEY/KEY, where the number of an item is its key
// in a list. Texts are returned as they are, numbers in decimal, and truth values as true or false.
//
// NotFound: the file or the key does not exist. Denied: no age key opens the file. Damaged: the file
// was changed. Invalid: anything else. No error contains a value.
func (r *Reader) Read(name string) (string, error) {
	file, path, _ := strings.Cut(name, "#")
	text, err := r.File(file)
	if err != nil {
		return "", err
	}
	root, err := r.open(file, text)
	if err != nil {
		return "", err
	}
	return pick(file, root, path)
}

// open returns the decrypted values of a file.
func (r *Reader) open(file, text string) (branch, error) {
	keys, err := r.keys()
	if err != nil {
		return nil, about(file, err)
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(len(text)) + "\n" + text + keys.text))
	r.mu.Lock()
	known, ok := r.opened[file]
	r.mu.Unlock()
	if ok && known.sum == sum && time.Since(known.at) < maxAge {
		return known.root, nil
	}
	root, err := decrypt(formatOf(file), text, keys)
	if err != nil {
		return nil, about(file, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened == nil || len(r.opened) >= maxFiles {
		r.opened = map[string]opened{}
	}
	r.opened[file] = opened{sum, root, time.Now()}
	return root, nil
}

// about returns an error that names the file.
func about(file string, err error) error {
	return &fault.Error{Kind: fault.KindOf(err), Op: op, Hint: fault.HintOf(err),
		Err: fmt.Errorf("%s: %w", file, err)}
}

// format is how a file is written.
type format string

const (
	formatYAML format = "YAML"
	formatJSON format = "JSON"
	formatENV  format = "variables"
	formatINI  format = "INI"
)

// formatOf returns the format of a file by its name, as sops does. All other files are JSON with a
// single member data.
func formatOf(file string) format {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".yaml", ".yml":
		return formatYAML
	case ".env":
		return formatENV
	case ".ini":
		return formatINI
	}
	return formatJSON
}

// pick returns the value at a path.
func pick(file string, root branch, path string) (string, error) {
	var v any = root
	for _, key := range strings.Split(path, "/") {
		next, ok := child(v, key)
		if !ok {
			return "", fault.New(fault.NotFound, op, "%s: it has no value at %s", file, path).
				WithHint("name the keys from the top of the file, as in %s#db/password; the "+
					"items of a list are 0, 1, ...", file)
		}
		v = next
	}
	switch v := v.(type) {
	case branch, []any:
		return "", fault.New(fault.Invalid, op, "%s: %s holds other values and is none itself", file,
			path).WithHint("name a value in it: %s#%s/KEY", file, path)
	case nil:
		return "", fault.New(fault.NotFound, op, "%s: the value at %s is null", file, path).
			WithHint("set it with sops edit, or name another")
	case bool:
		return strconv.FormatBool(v), nil
	default:
		return string(plain(v)), nil
	}
}

func child(v any, key string) (any, bool) {
	switch v := v.(type) {
	case branch:
		for _, item := range v {
			if item.key == key {
				return item.value, true
			}
		}
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}
