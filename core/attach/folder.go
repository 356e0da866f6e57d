package attach

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// home is where the folders of all spawns of a workspace are; manifestName is
// the file of sums in each.
const (
	home         = ".skein/attachments"
	manifestName = ".manifest.json"
)

// Entry is a file as the manifest has it.
type Entry struct {
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
	MimeType string `json:"mimeType,omitempty"`
}

// Manifest is the content of .manifest.json.
type Manifest struct {
	Count      int     `json:"count"`
	TotalBytes int64   `json:"totalBytes"`
	Files      []Entry `json:"files"`
}

// Sum makes the manifest of files.
func Sum(files []Content) Manifest {
	m := Manifest{Count: len(files), Files: make([]Entry, len(files))}
	for i, f := range files {
		sum := sha256.Sum256(f.Data)
		m.Files[i] = Entry{Name: f.Name, Bytes: int64(len(f.Data)), SHA256: hex.EncodeToString(sum[:]), MimeType: f.MimeType}
		m.TotalBytes += int64(len(f.Data))
	}
	return m
}

// Dir is the folder of a spawn in its workspace, with slashes. The id must be
// the plain name of a file.
func Dir(id string) string { return path.Join(home, id) }

// Write makes the folder dir in the workspace, with the files and the manifest,
// and returns once they are on the disk. A folder that is there already is an
// error. What was written before an error stays, for Remove.
func Write(workspace, dir string, files []Content) (err error) {
	manifest, err := json.MarshalIndent(Sum(files), "", "  ")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.MkdirAll(home, 0o700); err != nil {
		return err
	}
	if err := keepOutOfGit(root); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for _, f := range files {
		if err := writeFile(root, path.Join(dir, f.Name), f.Data); err != nil {
			return err
		}
	}
	if err := writeFile(root, path.Join(dir, manifestName), append(manifest, '\n')); err != nil {
		return err
	}
	return syncDir(root, dir)
}

// keepOutOfGit has git ignore the runtime's folder in a workspace.
func keepOutOfGit(root *os.Root) error {
	err := writeFile(root, path.Join(path.Dir(home), ".gitignore"), []byte("*\n"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// writeFile writes a new file and waits until it is on the disk.
func writeFile(root *os.Root, name string, data []byte) (err error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

func syncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Remove removes the folder dir of the workspace with everything in it. What is
// gone already is no error; a dir that is not the folder of one spawn is.
func Remove(workspace, dir string) (err error) {
	id, ok := strings.CutPrefix(dir, home+"/")
	if !ok || id == "" || strings.Contains(id, "/") || !fs.ValidPath(dir) {
		return fmt.Errorf("attach: %q is not the folder of a spawn", dir)
	}
	root, err := os.OpenRoot(workspace)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	return nil
}
