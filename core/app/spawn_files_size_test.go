package app_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/app"
)

const mebi = 1 << 20

// handing is the argument "attachments" of n files of so many bytes.
func handing(n, size int) string {
	files := make([]string, n)
	for i := range files {
		files[i] = fmt.Sprintf(`{name: "f%d", content: %q}`, i, strings.Repeat("x", size))
	}
	return "attachments: [" + strings.Join(files, ",") + "]"
}

// TestSpawnFilesOfEverySize: as many and as large files as the limits allow are
// handed over, and each that is over them is refused by the code of its limit,
// however far it is over it.
func TestSpawnFilesOfEverySize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, files, code string }{
		{"five of a mebibyte", handing(5, mebi), ""},
		{"fifty", handing(50, 1), ""},
		{"a byte too large", handing(1, mebi+1), "attachments_file_bytes_exceeded"},
		{"together too large", handing(6, mebi-1), "attachments_total_bytes_exceeded"},
		{"one too many", handing(51, 1), "attachments_file_count_exceeded"},
		{"far too many", handing(1001, 1), "attachments_file_count_exceeded"},
		{"no name", `attachments: [{name: "", content: "x"}]`, "attachments_invalid_name"},
		{"a long name", `attachments: [{name: "` + strings.Repeat("n", 256) + `", content: "x"}]`, "attachments_invalid_name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := prepareScene(t, "", "")
			ws := filepath.Join(s.dir, "ws")
			require.NoError(t, os.Mkdir(ws, 0o700))
			s.configure(filesSettings(ws, "enabled: true"))
			s.write("model.json5", `{rules: [
			  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "read", label: "reader", `+c.files+`}}]},
			  {when: {task: "/reader/"}, delay: "1m", say: "read"},`+sayResult+`]}`)
			s.start()
			s.say("team", "go")
			got := s.result("team")
			if c.code != "" {
				require.Equal(t, c.code, got["code"])
				s.requireNothingLeft(ws)
				return
			}
			require.Equal(t, "accepted", got["status"], got)
			require.Len(t, s.folders(ws), 1)
		})
	}
}

// TestArgumentsThatAreTooMuchToKeep: only files may be large; an answer with
// other arguments of more than a mebibyte is not kept.
func TestArgumentsThatAreTooMuchToKeep(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `{when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "`+strings.Repeat("x", mebi)+`"}}]},`)
	s.say("team", "go")
	require.Contains(t, last(s.told("team")), "too large")
	require.Empty(t, s.runs())
}

// TestErasedFilesAreRemoved: with the data of the person who had files handed
// over go the files, at once.
func TestErasedFilesAreRemoved(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"team", "dm:mallory"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s, ws := filesScene(t, "")
			s.start()
			s.says("mallory", place, "go")
			s.pass(2 * time.Minute)
			require.Len(t, s.folders(ws), 1)
			var report app.DataReport
			require.Equal(t, http.StatusOK, s.erase(`{}`, &report))
			s.pass(time.Second)
			require.Empty(t, s.folders(ws))
		})
	}
}
