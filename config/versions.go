package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// keptVersions is how many earlier versions of a file are kept beside it.
const keptVersions = 5

// fileMode is the mode of everything that is written: a configuration may hold
// credentials.
const fileMode fs.FileMode = 0o600

// replaceFile gives a file new content and keeps the old one beside it. A
// symbolic link stays one: the file that it leads to is replaced.
func replaceFile(name string, old, content []byte) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	// Staged before anything moves: a full disk changes nothing.
	next, err := stage(target, content, keptMode(info.Mode()), info)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	defer func() { _ = os.Remove(next) }() // it is gone if all went well
	if err := keepVersion(target, old, info); err != nil {
		return fmt.Errorf("the version before cannot be kept beside %s: %w", name, err)
	}
	if err := os.Rename(next, target); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(target))
}

// keptMode returns the mode of a file after it was written: what others than
// its owner and group may read becomes private, the rest stays.
func keptMode(mode fs.FileMode) fs.FileMode {
	if mode.Perm()&0o007 != 0 {
		return fileMode
	}
	return mode.Perm() | fileMode
}

// keepVersion moves the kept versions on by one and adds the newest as .1.
func keepVersion(name string, content []byte, owner fs.FileInfo) error {
	version := func(n int) string { return fmt.Sprintf("%s.%d", name, n) }
	newest, err := stage(name, content, fileMode, owner)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(newest) }() // as above
	for n := keptVersions - 1; n >= 1; n-- {
		if err := os.Rename(version(n), version(n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(newest, version(1))
}

// stage writes content to a new file in the folder of name, to be renamed, and
// waits for the disk. The file belongs to the owner of another one.
func stage(name string, content []byte, mode fs.FileMode, owner fs.FileInfo) (staged string, err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	err = errors.Join(err, giveTo(f, owner), f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// giveTo gives a new file the owner and group of another one, if there is one, so that whoever
// could read that one, such as a service whose file root edits, still can.
func giveTo(f *os.File, owner fs.FileInfo) error {
	if owner == nil {
		return nil
	}
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	has, ok := mine.Sys().(*syscall.Stat_t)
	want, known := owner.Sys().(*syscall.Stat_t)
	if !ok || !known || has.Uid == want.Uid && has.Gid == want.Gid {
		return nil
	}
	if err := f.Chown(int(want.Uid), int(want.Gid)); err != nil {
		return fmt.Errorf("its owner cannot be kept: %w; do it as the user it belongs to", err)
	}
	return nil
}

// syncFolder makes a rename last. File systems that cannot do that for a folder
// say so, and have nothing to be told.
func syncFolder(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	_ = dir.Sync()
	return nil
}
