package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Create writes a new configuration file, mode 0600, complete at every moment.
// One that exists is left alone, with an error that is fs.ErrExist, unless force
// is set; then it is kept as Edit.Write keeps it.
func Create(name string, content []byte, force bool) error {
	old, err := os.ReadFile(name)
	switch {
	case err == nil && force:
		return replaceFile(name, old, content)
	case err == nil:
		return fmt.Errorf("%s: %w", name, fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	staged, err := stage(name, content, fileMode, nil)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(staged) }()
	return os.Link(staged, name) // unlike a rename it takes nobody's place
}
