package attach_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/attach"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var limits = attach.Limits{MaxFiles: 3, MaxFileBytes: 10, MaxTotalBytes: 20}

func file(name, content string) attach.File { return attach.File{Name: name, Content: content} }

func encoded(name, content string) attach.File {
	return attach.File{Name: name, Content: content, Encoding: "base64"}
}

func TestEveryLimitHasACode(t *testing.T) {
	t.Parallel()
	ten := strings.Repeat("x", 10)
	long := func(n int) string { return strings.Repeat("n", n) }
	many := attach.Limits{MaxFiles: 50, MaxFileBytes: 10, MaxTotalBytes: 1000}
	var names []attach.File
	for i := range 20 {
		names = append(names, file(fmt.Sprintf("%s%d", long(220), i), "x"))
	}
	for _, c := range []struct {
		name   string
		limits attach.Limits
		files  []attach.File
		code   string
		says   string
	}{
		{"count", limits, []attach.File{file("a", ""), file("b", ""), file("c", ""), file("d", "")}, "attachments_file_count_exceeded", "4 of at most 3"},
		{"bytes", limits, []attach.File{file("a", ten+"x")}, "attachments_file_bytes_exceeded", "11 of at most 10"},
		{"bytes of base64", limits, []attach.File{encoded("a", base64.StdEncoding.EncodeToString([]byte(ten+"x")))}, "attachments_file_bytes_exceeded", "11 of at most 10"},
		{"total", limits, []attach.File{file("a", ten), file("b", ten), file("c", "x")}, "attachments_total_bytes_exceeded", "21 of at most 20"},
		{"same name", limits, []attach.File{file("a", ""), file("a", "")}, "attachments_duplicate_name", `"a"`},
		{"same name in other case", limits, []attach.File{file("a", ""), file("A", "")}, "attachments_duplicate_name", `"A"`},
		{"base64 alphabet", limits, []attach.File{encoded("a", "a_b=")}, "attachments_invalid_base64_or_too_large", "strict base64"},
		{"base64 padding", limits, []attach.File{encoded("a", "YQ")}, "attachments_invalid_base64_or_too_large", "2 characters"},
		{"base64 with leftover bits", limits, []attach.File{encoded("a", "YR==")}, "attachments_invalid_base64_or_too_large", "strict base64"},
		{"base64 with a line break", limits, []attach.File{encoded("a", "YQ=\n=YQ\n")}, "attachments_invalid_base64_or_too_large", "strict base64"},
		{"base64 far too long", limits, []attach.File{encoded("a", strings.Repeat("AAAA", 10))}, "attachments_invalid_base64_or_too_large", "40 characters"},
		{"encoding", limits, []attach.File{{Name: "a", Encoding: "hex"}}, "bad_params", "utf8 or base64"},
		{"type", limits, []attach.File{{Name: "a", MimeType: "a b"}}, "bad_params", "mimeType"},
		{"listing", many, names, "attachments_prompt_paths_exceeded", "4096"},
	} {
		_, err := attach.Check(c.files, c.limits)
		require.Error(t, err, c.name)
		require.Equal(t, c.code, core.ErrorCode(err), c.name)
		require.Contains(t, err.Error(), c.says, c.name)
	}
	for _, name := range []string{"", ".", "..", ".manifest.json", ".Manifest.JSON", "a/b", `a\b`, "a\x00b", "a\nb", "a\u202eb", "<a", "a>", " a", "a ", long(256), "\xff"} {
		_, err := attach.Check([]attach.File{file(name, "x")}, limits)
		require.Equal(t, "attachments_invalid_name", core.ErrorCode(err), "%q", name)
	}
	for _, files := range [][]attach.File{
		nil, {file("a", ten), file("b", ten), file("c", "")}, {encoded("a", "YQ==")}, {encoded("empty", "")}, {file("ünïcode ☂.md", "x")}, {file(long(255), "x")}, {file(".hidden", "x")},
	} {
		_, err := attach.Check(files, limits)
		require.NoError(t, err)
	}
}

// What is checked is what is written: every file with its sum, for its owner
// alone, and nothing is left when it is removed.
func TestAFolderIsWrittenAndRemoved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ws, err := os.MkdirTemp("", "attach") //nolint:usetesting // one for each draw
		require.NoError(t, err)
		defer os.RemoveAll(ws) //nolint:errcheck // a folder of the test
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z.ü ]{0,5}[a-z]`), 0, 5, rapid.ID).Draw(t, "names")
		var files []attach.File
		contents := make(map[string][]byte)
		for _, name := range names {
			data := rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "data")
			if strings.TrimSpace(name) != name {
				continue
			}
			contents[name] = data
			files = append(files, encoded(name, base64.StdEncoding.EncodeToString(data)))
		}
		checked, err := attach.Check(files, attach.Limits{MaxFiles: 5, MaxFileBytes: 30, MaxTotalBytes: 150})
		require.NoError(t, err)
		dir := attach.Dir("x1")
		require.NoError(t, attach.Write(ws, dir, checked))
		entries, err := os.ReadDir(filepath.Join(ws, dir))
		require.NoError(t, err)
		require.Len(t, entries, len(contents)+1)
		for name, data := range contents {
			path := filepath.Join(ws, dir, name)
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(data), string(got))
			requireMode(t, path, 0o600)
		}
		requireMode(t, filepath.Join(ws, dir), fs.ModeDir|0o700)
		requireMode(t, filepath.Join(ws, ".skein"), fs.ModeDir|0o700)
		raw, err := os.ReadFile(filepath.Join(ws, dir, ".manifest.json"))
		require.NoError(t, err)
		var m attach.Manifest
		require.NoError(t, json.Unmarshal(raw, &m))
		require.Equal(t, len(contents), m.Count)
		for _, f := range m.Files {
			sum := sha256.Sum256(contents[f.Name])
			require.Equal(t, hex.EncodeToString(sum[:]), f.SHA256)
			require.EqualValues(t, len(contents[f.Name]), f.Bytes)
		}
		require.ErrorIs(t, attach.Write(ws, dir, checked), fs.ErrExist, "nothing is written over")
		require.NoError(t, attach.Remove(ws, dir))
		require.NoDirExists(t, filepath.Join(ws, dir))
		require.NoError(t, attach.Remove(ws, dir), "once more is no error")
	})
}

func requireMode(t *rapid.T, path string, mode fs.FileMode) {
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, mode, info.Mode(), path)
}

// No symlink in a workspace leads what is written or removed to another place,
// and only folders of spawns are removed.
func TestNothingLeavesTheWorkspace(t *testing.T) {
	t.Parallel()
	ws, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "attachments", "x1"), 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(ws, ".skein")))
	checked, err := attach.Check([]attach.File{file("a", "x")}, limits)
	require.NoError(t, err)
	require.Error(t, attach.Write(ws, attach.Dir("x2"), checked))
	require.NoDirExists(t, filepath.Join(outside, "attachments", "x2"))
	require.Error(t, attach.Remove(ws, attach.Dir("x1")))
	require.DirExists(t, filepath.Join(outside, "attachments", "x1"))
	for _, dir := range []string{"", ".", "src", ".skein/attachments", ".skein/attachments/", ".skein/attachments/..", ".skein/attachments/a/b", "/etc"} {
		require.Error(t, attach.Remove(ws, dir), dir)
	}
	require.NoError(t, attach.Remove(filepath.Join(ws, "gone"), attach.Dir("x1")), "the workspace is gone, and the folder with it")
}

// A symlink that a tool put into the folder is removed, and not what it names.
func TestRemoveFollowsNoLink(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(ws, "keep"), []byte("x"), 0o600))
	require.NoError(t, attach.Write(ws, attach.Dir("x1"), nil))
	require.NoError(t, os.Symlink(ws, filepath.Join(ws, attach.Dir("x1"), "link")))
	require.NoError(t, attach.Remove(ws, attach.Dir("x1")))
	require.FileExists(t, filepath.Join(ws, "keep"))
}

func FuzzCheck(f *testing.F) {
	f.Add("a.txt", "YQ==", "base64")
	f.Add("..", "x", "utf8")
	f.Fuzz(func(t *testing.T, name, content, encoding string) {
		checked, err := attach.Check([]attach.File{{Name: name, Content: content, Encoding: encoding}}, limits)
		if err != nil {
			require.NotEmpty(t, core.ErrorCode(err))
			return
		}
		require.True(t, filepath.IsLocal(name))
		require.NotContains(t, name, string(filepath.Separator))
		require.LessOrEqual(t, len(checked[0].Data), 10)
	})
}
