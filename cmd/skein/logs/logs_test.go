package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write writes numbered lines.
func write(t *testing.T, l *File, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		_, err := fmt.Fprintf(l, "line %03d\n", i)
		require.NoError(t, err)
	}
}

func TestTheLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state", Name)
	l, err := open(path, 100)
	require.NoError(t, err)
	write(t, l, 0, 60) // 9 bytes a line, 11 lines a file
	require.NoError(t, l.Close())
	_, err = l.Write([]byte("late\n"))
	require.ErrorIs(t, err, os.ErrClosed)
	var whole string
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Len(t, files, 1+Keep)
	for i := Keep; i >= 0; i-- {
		text, err := os.ReadFile(older(path, i))
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), 100)
		require.True(t, strings.HasSuffix(string(text), "\n"), "no line is cut")
		whole += string(text)
	}
	require.True(t, strings.HasPrefix(whole, "line 022\n"), "the oldest are gone")
	require.Equal(t, 38, strings.Count(whole, "\n"))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	l, err = open(path, 100) // a restart goes on in the same file
	require.NoError(t, err)
	write(t, l, 60, 61)
	require.NoError(t, l.Close())
	r, err := NewReader(filepath.Dir(path))
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, r.Tail(&out, 15))
	require.Equal(t, 15, strings.Count(out.String(), "\n"), "older files too")
	require.True(t, strings.HasPrefix(out.String(), "line 046\n"))
	require.NoError(t, r.Close())
}

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		text  string
		lines int
		want  string
	}{
		{"", 5, ""},
		{"a\nb\nc\n", 0, "a\nb\nc\n"},
		{"a\nb\nc\n", 1, "c\n"},
		{"a\nb\nc\n", 3, "a\nb\nc\n"},
		{"a\nb\nc\n", 9, "a\nb\nc\n"},
		{"a\nb\nhalf", 2, "b\nhalf"},
	} {
		require.Equal(t, tt.want, string(last([]byte(tt.text), tt.lines)), "%q %d", tt.text, tt.lines)
	}
	_, err := NewReader(t.TempDir())
	require.Equal(t, "log_missing", core.ErrorCode(err))
}

// screen is what a reader has seen.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestFollow: nothing is missing and nothing twice, over files that are
// exchanged.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	l, err := open(filepath.Join(dir, Name), 200)
	require.NoError(t, err)
	write(t, l, 0, 5)
	r, err := NewReader(dir)
	require.NoError(t, err)
	seen := new(screen)
	require.NoError(t, r.Tail(seen, 2))
	require.Equal(t, "line 003\nline 004\n", seen.String())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Follow(ctx, seen, clock.Real{}) }()
	want := "line 003\nline 004\n"
	for i := 5; i < 95; i += 15 {
		write(t, l, i, i+15)
		for n := i; n < i+15; n++ {
			want += fmt.Sprintf("line %03d\n", n)
		}
		require.Eventually(t, func() bool { return seen.String() == want }, 10*time.Second, 10*time.Millisecond, "%q", seen)
	}
	require.NoError(t, os.Truncate(l.path, 0))
	write(t, l, 0, 1)
	require.Eventually(t, func() bool { return strings.HasSuffix(seen.String(), "line 000\n") }, 10*time.Second, 10*time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	require.NoError(t, r.Close())
	require.NoError(t, l.Close())
}

// TestTeeOnAFullDisk: what the file cannot take is still on the terminal.
func TestTeeOnAFullDisk(t *testing.T) {
	l, err := Open(t.TempDir())
	require.NoError(t, err)
	var out bytes.Buffer
	w := Tee(&out, l)
	_, err = io.WriteString(w, "one\n")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = io.WriteString(w, "two\n")
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", out.String())
}
