package config_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/skein-bot/skein/config"
)

var update = flag.Bool("update", false, "rewrite the expected messages of the golden cases")

// TestGolden checks every archive in testdata/bad and testdata/warn. Adding a
// case needs no Go: write an archive with skein.json5, any files that it needs,
// env (NAME=VALUE lines) and built (parts of the build, one a line), run
// go test ./config -run TestGolden -update, and read the "want" it adds. Cases
// in bad must fail, those in warn must load.
func TestGolden(t *testing.T) {
	for _, dir := range []string{"bad", "warn"} {
		names, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		require.NoError(t, err)
		require.NotEmpty(t, names)
		for _, name := range names {
			t.Run(dir+"/"+strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
				checkGolden(t, name, dir == "bad")
			})
		}
	}
}

func checkGolden(t *testing.T, name string, bad bool) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	require.NoError(t, err)
	_, warnings, err := config.Load("skein.json5", archiveOptions(archive))
	require.Equal(t, bad, err != nil, "%v", err)
	got := ""
	if err != nil {
		got = err.Error() + "\n"
	}
	for _, w := range warnings {
		got += "warning: " + w.String() + "\n"
	}
	if *update {
		writeWant(t, name, archive, got)
		return
	}
	require.Equal(t, fileIn(archive, "want"), got)
}

// archiveOptions serves files, environment and parts from an archive.
func archiveOptions(archive *txtar.Archive) config.Options {
	env := map[string]string{}
	for line := range strings.Lines(fileIn(archive, "env")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[name] = value
	}
	var built config.Parts
	for line := range strings.Lines(fileIn(archive, "built")) {
		built = append(built, config.Part(strings.TrimSpace(line)))
	}
	return config.Options{
		Home:  "/home/skein",
		Built: built,
		Env:   func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		ReadFile: func(name string) ([]byte, error) {
			for _, f := range archive.Files {
				if f.Name == name {
					return f.Data, nil
				}
			}
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		},
	}
}

func fileIn(archive *txtar.Archive, name string) string {
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func writeWant(t *testing.T, name string, archive *txtar.Archive, want string) {
	t.Helper()
	files := archive.Files[:0]
	for _, f := range archive.Files {
		if f.Name != "want" {
			files = append(files, f)
		}
	}
	files = append(files, txtar.File{Name: "want", Data: []byte(want)})
	archive.Files = files
	require.NoError(t, os.WriteFile(name, txtar.Format(archive), 0o644))
}
