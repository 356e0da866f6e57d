package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

func TestQuestionMarks(t *testing.T) {
	for query, want := range map[string]string{
		"":                                  "",
		"SELECT 1":                          "SELECT 1",
		"a = $1 AND b = $12":                "a = ?1 AND b = ?12",
		"b = $2 AND a = $1 AND c = $2":      "b = ?2 AND a = ?1 AND c = ?2",
		"a = '$1' AND b = $1":               "a = '$1' AND b = ?1",
		"a = 'it''s $1' AND b = $1":         "a = 'it''s $1' AND b = ?1",
		"a = '' AND b = $1":                 "a = '' AND b = ?1",
		"a = $ AND b = $x AND c = '$' || $": "a = $ AND b = $x AND c = '$' || $",
		"é = $1":                            "é = ?1",
	} {
		require.Equal(t, want, questionMarks(query))
	}
}

// FuzzQuestionMarks: outside of texts every $N becomes ?N, and nothing else
// changes.
func FuzzQuestionMarks(f *testing.F) {
	for _, q := range []string{"a = $1", "a = '$1' AND b = $2", "'", "$", "$1$2'$3'$4", "''$1"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		got := questionMarks(query)
		require.Len(t, got, len(query))
		texts, was := strings.Split(got, "'"), strings.Split(query, "'")
		require.Len(t, texts, len(was))
		for i := range texts {
			if i%2 == 1 {
				require.Equal(t, was[i], texts[i], "a text is not touched")
				continue
			}
			for n := range 10 {
				require.NotContains(t, texts[i], fmt.Sprint("$", n))
				require.Equal(t, strings.Count(was[i], fmt.Sprint("$", n))+strings.Count(was[i], fmt.Sprint("?", n)), strings.Count(texts[i], fmt.Sprint("?", n)))
			}
		}
	})
}

// FuzzAddress: an address comes back from its column as it was, with its
// parent.
func FuzzAddress(f *testing.F) {
	f.Add("discord", "default", "C1", "", "")
	f.Add("discord", "default", "thread 9", "", "general: a/b")
	f.Add("telegram", "second", "-100", "7", "")
	f.Add("matrix", "a%", "!Room:hs", "$Event/1", " ")
	f.Fuzz(func(t *testing.T, channel, account, conversation, thread, parent string) {
		a := core.Address{Channel: channel, Account: account, Conversation: conversation, Thread: thread, Parent: parent}
		if channel == "" || account == "" || conversation == "" {
			require.NotPanics(t, func() { parseAddress(formatAddress(a)) })
			return
		}
		require.Equal(t, a, parseAddress(formatAddress(a)))
	})
}

// FuzzParseAddress: what is in the column never stops a reader, and what it
// reads it writes the same.
func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"", " ", "a:b:c", "a:b:c/d a:b:e", "a:b:c x", "a:b:c a:b:e a:b:f", "::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a := parseAddress(s)
		require.Equal(t, a, parseAddress(formatAddress(a)))
	})
}

func TestAddressOfNothing(t *testing.T) {
	require.Empty(t, formatAddress(core.Address{}))
	require.True(t, parseAddress("").IsZero())
	require.True(t, parseAddress("no address").IsZero())
}

func TestParseURL(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for u, want := range map[string]string{
		"sqlite:skein.db":            "skein.db",
		"sqlite:/var/lib/s k.db":     "/var/lib/s k.db",
		"sqlite:~/.skein/skein.db":   filepath.Join(home, ".skein", "skein.db"),
		"sqlite:./~/skein.db":        "./~/skein.db",
		"sqlite:a?mode=ro&x=%41#f":   "a?mode=ro&x=%41#f",
		"sqlite:~other/x.db":         "~other/x.db",
		"sqlite:///var/lib/skein.db": "///var/lib/skein.db",
	} {
		got, err := ParseURL(u)
		require.NoError(t, err, u)
		require.Equal(t, Options{Path: want}, got)
	}
	got, err := ParseURL("postgres://u:p@h/d?sslmode=disable")
	require.NoError(t, err)
	require.Equal(t, Options{URL: "postgres://u:p@h/d?sslmode=disable"}, got)
	for _, u := range []string{"", "sqlite:", "skein.db", "mysql://u@h/d", "SQLITE:x", " sqlite:x"} {
		_, err := ParseURL(u)
		require.Equal(t, "store_url", core.ErrorCode(err), u)
		require.ErrorContains(t, err, "use sqlite:PATH", u)
	}
}

// FuzzParseURL: a path without a home in it comes back as it is.
func FuzzParseURL(f *testing.F) {
	for _, p := range []string{"", "a", "/a b", "~", "~/x", "//", "%41"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, err := ParseURL("sqlite:" + path)
		switch {
		case path == "":
			require.Error(t, err)
		case strings.HasPrefix(path, "~/"):
			require.NoError(t, err)
			require.True(t, filepath.IsAbs(got.Path), got)
		default:
			require.NoError(t, err)
			require.Equal(t, Options{Path: path}, got)
		}
	})
}

func TestIsFull(t *testing.T) {
	for text, want := range map[string]bool{
		"database or disk is full (13)":               true,
		"write /x: no space left on device":           true,
		"constraint failed: UNIQUE constraint failed": false,
	} {
		err := fmt.Errorf("store: %w", errors.New(text))
		require.Equal(t, want, isFull(err), text)
		require.Equal(t, want, core.ErrorCode(wrapFull(err)) == "store_full")
	}
	require.NoError(t, wrapFull(nil))
}

// TestUnwritable: what the system says about places that cannot be written is
// told with its remedy.
func TestUnwritable(t *testing.T) {
	for text, code := range map[string]string{
		"attempt to write a readonly database (8)": "store_read_only",
		"open /x: read-only file system":           "store_read_only",
		"file is not a database (26)":              "store_corrupt",
		"database disk image is malformed (11)":    "store_corrupt",
		"unable to open database file (14)":        "store_open",
	} {
		var e *core.Error
		require.ErrorAs(t, openError("/x/skein.db", errors.New(text)), &e)
		require.Equal(t, code, e.Code, text)
		require.Contains(t, e.Text, "/x/skein.db")
		require.NotEmpty(t, e.Remedy)
	}
}
