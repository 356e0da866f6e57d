// Package demo holds what `skein demo` runs: a configuration, two sample agents
// and the rules of a scripted model that plays both.
//
// Write lays the files out in a folder, where they are an ordinary project:
// every command works on it with --config.
package demo

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/skein-bot/skein/config"
)

//go:embed files
var files embed.FS

// Folder is the demo's folder, in the one where it is started.
const Folder = ".skein-demo"

// Write makes the folder (0700) with the demo's files and returns the path of
// the configuration. Files of that name are written anew: they belong to the
// demo, and people who want to change them copy the folder.
func Write(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	entries, err := fs.ReadDir(files, "files")
	if err != nil {
		return "", err
	}
	var errs []error
	for _, entry := range entries {
		content, err := fs.ReadFile(files, path.Join("files", entry.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, entry.Name()), content, 0o600)
		}
		errs = append(errs, err)
	}
	return filepath.Join(dir, config.FileName), errors.Join(errs...)
}
