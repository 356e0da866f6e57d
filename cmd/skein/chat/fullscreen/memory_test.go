package fullscreen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
)

func openMemory(t *testing.T, path string) *Memory {
	t.Helper()
	m, err := OpenMemory(path)
	require.NoError(t, err)
	return m
}

func TestMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "chat.jsonl")
	main, cats := place1(""), place1("t1")
	m := openMemory(t, path)
	m.wrote(main, "one")
	m.wrote(main, "two\nlines")
	m.wrote(cats, "three")
	m.wrote(main, "one")
	m.wrote(main, strings.Repeat("x", historyLine+1)) // not kept
	m.seen(cats, 7)
	m.seen(cats, 5)
	m.leave(9)
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())

	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	// A write that broke off, and lines of somebody else's, cost only themselves.
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append([]byte("nonsense\n"), append(content, `{"at":{"c":"ma`...)...), 0o644))
	m = openMemory(t, path)
	require.Equal(t, []string{"two\nlines", "one"}, m.history[main])
	require.Equal(t, []string{"three"}, m.history[cats])
	require.Equal(t, uint64(7), m.read[cats])
	require.Equal(t, uint64(9), m.left)
	m.wrote(main, "after")
	require.NoError(t, m.Close())
	info, err = os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "whatever it was before")
	m = openMemory(t, path)
	require.Equal(t, []string{"two\nlines", "one", "after"}, m.history[main])
	require.Equal(t, uint64(9), m.left)
	require.NoError(t, m.Close())
}

func TestMemoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chat.jsonl")
	m := openMemory(t, path)
	for i := range memoryRecords + 10 {
		m.wrote(place1(""), fmt.Sprint(i))
	}
	for i := range memoryPlaces + 10 {
		m.seen(place1(fmt.Sprint("t", i)), 3)
	}
	m.leave(4)
	require.NoError(t, m.Close())
	big, err := os.Stat(path)
	require.NoError(t, err)

	m = openMemory(t, path)
	small, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, small.Size(), big.Size()/4, "it is written anew when it has grown")
	require.Equal(t, os.FileMode(0o600), small.Mode().Perm())
	require.Len(t, m.read, memoryPlaces)
	require.Empty(t, m.history[place1("")], "the place that was used longest ago is forgotten")
	require.Equal(t, uint64(4), m.left)
	m.wrote(place1(""), "x")
	require.NoError(t, m.Close())
	m = openMemory(t, path)
	require.Equal(t, []string{"x"}, m.history[place1("")])
	require.NoError(t, m.Close())
}

// Where it cannot be kept the chat goes on without.
func TestMemoryThatCannotBeKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	m, err := OpenMemory(filepath.Join(file, "chat.jsonl"))
	require.ErrorContains(t, err, "is not kept")
	m.wrote(place1(""), "x")
	require.Equal(t, []string{"x"}, m.history[place1("")])
	require.NoError(t, m.Close())
}

// What came while nobody looked is unread the next time, and what was not read
// before still is.
func TestUnreadAcrossStarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chat.jsonl")
	with := func(m *Memory) func(*Options) { return func(o *Options) { o.Memory = m } }
	m := openMemory(t, path)
	first := newRig(t, 80, 24, with(m))
	first.says("", "", "older than the first look", "")
	one := first.opens("cats")
	first.attach()
	require.Zero(t, first.places.unread(), "at the first look nothing is news")
	first.says(one, "cats", "not read", "")
	first.feed()
	first.remember()
	require.NoError(t, m.Close())

	two := first.opens("dogs")
	first.says("", "", "while away", "")
	first.says(two, "dogs", "a new thread", "")
	m = openMemory(t, path)
	second := newRig(t, 80, 24, with(m), func(o *Options) { o.People = first.hub })
	second.attach()
	require.Contains(t, second.screen(), "── new ─")
	require.Equal(t, 1, second.places.at(place1(one)).unread)
	require.Equal(t, 1, second.places.at(place1(two)).unread)
	require.Equal(t, "skein · main (2)", second.View().WindowTitle)
	second.keys("tab", "tab")
	second.remember()
	require.NoError(t, m.Close())

	m = openMemory(t, path)
	third := newRig(t, 80, 24, with(m), func(o *Options) { o.People = first.hub })
	third.attach()
	require.Zero(t, third.places.unread())
	require.Equal(t, console.Main, third.at())
	require.NoError(t, m.Close())
}
