package server

import (
	"crypto/sha256"
	_ "embed" // what Python runs first
	"encoding/hex"
	"os"
	"path/filepath"
)

//go:embed sitecustomize.py
var sitecustomize []byte

// collectSeldom returns a variable for programs in Python that are installed here, with which they
// look for garbage seldom. By itself Python does that each time that there are 700 objects more,
// which is about a tenth of what it takes to run a tool once. Most garbage needs no looking for.
func collectSeldom() (string, error) {
	sum := sha256.Sum256(sitecustomize)
	dir, err := cached(filepath.Join("servers", "python-"+hex.EncodeToString(sum[:6])),
		func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "sitecustomize.py"), sitecustomize, 0o644)
		})
	if err != nil {
		return "", err
	}
	path := "PYTHONPATH=" + dir
	if also := os.Getenv("PYTHONPATH"); also != "" {
		path += string(os.PathListSeparator) + also
	}
	return path, nil
}
