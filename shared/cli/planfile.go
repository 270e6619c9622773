package cli

import (
	"io"
	"os"
	"path/filepath"

	"southbound/shared/api"
)

// planExt is the usual extension of a kept plan.
const planExt = ".plan"

// keeps reports whether path is a kept plan, and not documents.
func keeps(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	head := make([]byte, 4)
	n, _ := io.ReadFull(f, head)
	return api.MayBeKept(head[:n]) || filepath.Ext(path) == planExt
}
