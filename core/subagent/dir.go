package subagent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skein-bot/skein/core"
)

// places are where the tools of a child may work.
type places struct {
	base  string   // where relative names start
	roots []string // a folder inside one of these is allowed
}

// resolve returns the folder that cwd names, absolute and free of symlinks, so
// that none of them leads out later. It reads the disk.
func (p places) resolve(cwd string) (string, error) {
	path := cwd
	if !filepath.IsAbs(path) {
		if p.base == "" {
			return "", core.Errorf("bad_params", "cwd %q is relative, and the agent has no workspace", cwd).
				WithRemedy("leave cwd out, or have an operator set agents.entries.<id>.workspace")
		}
		path = filepath.Join(p.base, path)
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		// Whether a folder outside exists is not told.
		if !p.allow(filepath.Clean(path)) {
			return "", p.outside(cwd)
		}
		why := "cannot be used"
		if errors.Is(err, fs.ErrNotExist) {
			why = "does not exist"
		}
		return "", core.Errorf("bad_params", "cwd %q %s", cwd, why).WithRemedy("name a folder that exists, or leave cwd out")
	}
	if !p.allow(resolved) {
		return "", p.outside(cwd)
	}
	if info, err := os.Stat(resolved); err != nil || !info.IsDir() {
		return "", core.Errorf("bad_params", "cwd %q is not a folder", cwd).WithRemedy("name a folder, or leave cwd out")
	}
	return resolved, nil
}

// outside refuses a folder that the child may not work in.
func (p places) outside(cwd string) error {
	where := strings.Join(p.roots, ", ")
	if where == "" {
		return core.Errorf("cwd_outside", "cwd %q: the agent has no workspace", cwd).
			WithRemedy("leave cwd out, or have an operator set agents.entries.<id>.workspace")
	}
	return core.Errorf("cwd_outside", "cwd %q is outside the workspace (%s)", cwd, where).
		WithRemedy("name a folder inside it, or have an operator add the folder to tools.sessions_spawn.directories")
}

// allow reports whether a folder lies inside one of the roots.
func (p places) allow(resolved string) bool {
	for _, root := range p.roots {
		if r, err := filepath.EvalSymlinks(root); err == nil {
			root = r
		}
		rel, err := filepath.Rel(root, resolved)
		if err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
