package input

import (
	"io"
	"os"
	"path/filepath"

	"southbound/shared/api"
)

// PlanExt is the usual extension of a kept plan.
const PlanExt = ".plan"

// Keeps reports whether path is a kept plan, and not documents.
func Keeps(path string) bool {
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
	return api.MayBeKept(head[:n]) || filepath.Ext(path) == PlanExt
}
