package demo_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"github.com/skein-bot/skein/cmd/skein/demo"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the demo's files into examples/demo.txtar")

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), demo.Folder)
	path, err := demo.Write(dir)
	require.NoError(t, err)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	// What a person changed there is the demo's again.
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	again, err := demo.Write(dir)
	require.NoError(t, err)
	require.Equal(t, path, again)

	cfg, warnings, err := config.Load(path, config.Options{})
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, []string{"main", "researcher"}, cfg.AgentIDs())
	for _, id := range cfg.AgentIDs() {
		text, err := cfg.Instructions(id, config.Options{})
		require.NoError(t, err)
		require.NotEmpty(t, text)
	}
	rules, err := os.ReadFile(filepath.Join(dir, "model.json5"))
	require.NoError(t, err)
	parsed, err := app.ParseScript("model.json5", rules)
	require.NoError(t, err)
	_, err = scripted.New(parsed, clock.Real{}, scripted.Options{})
	require.NoError(t, err)
}

func TestWriteNeedsAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := demo.Write(file)
	require.Error(t, err)
}

// The acceptance of the demo carries its files, so that `skein test examples/`
// plays what `skein demo` runs.
func TestAcceptanceCarriesTheDemo(t *testing.T) {
	const name = "../../../examples/demo.txtar"
	dir := t.TempDir()
	_, err := demo.Write(dir)
	require.NoError(t, err)
	archive, err := txtar.ParseFile(name)
	require.NoError(t, err)
	var files []txtar.File
	for _, f := range []string{"skein.json5", "model.json5", "main.md", "researcher.md"} {
		content, err := os.ReadFile(filepath.Join(dir, f))
		require.NoError(t, err)
		files = append(files, txtar.File{Name: f, Data: content})
	}
	if *update {
		archive.Files = files
		require.NoError(t, os.WriteFile(name, txtar.Format(archive), 0o600))
	}
	require.Equal(t, files, archive.Files, "run go test ./cmd/skein/demo -update")
}
