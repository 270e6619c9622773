package python

import (
	"os"
	"path/filepath"
)

// Module is a module of a project.
type Module struct {
	Name string
	Dir  string // its folder, absolute
	// Legacy marks a module whose code is in its folder plugins, instead of in a package of the
	// environment.
	Legacy bool
}

// Find returns the Python program of a virtual environment, or the reason why there is none.
func Find(env string) (path, wrong string) {
	for _, name := range []string{"python", "python3"} {
		path := filepath.Join(env, "bin", name)
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, ""
		}
		if _, err := os.Lstat(path); err == nil {
			return "", path + " does not lead to a Python program"
		}
	}
	return "", "there is no virtual environment " + env
}
