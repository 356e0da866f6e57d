package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

func openFile(t require.TestingT, path string, change ...func(*Options)) *Hub {
	o := Options{Path: path, Clock: clock.Real{}}
	for _, f := range change {
		f(&o)
	}
	h, err := Open(o)
	require.NoError(t, err)
	return h
}

// unsynced spares a test the disk.
func unsynced(o *Options) { o.sync = func(*os.File) error { return nil } }

func say(t require.TestingT, h *Hub, text string) Message {
	m, err := h.Post(context.Background(), Post{By: User{ID: Local}, Conversation: Main, Text: text})
	require.NoError(t, err)
	return m
}

// knows returns everything that a hub shows to anybody, as JSON.
func knows(t require.TestingT, h *Hub) string {
	ctx := context.Background()
	feed, err := h.Feed(ctx, FeedRequest{})
	require.NoError(t, err)
	feed.Typing, feed.TypingSeq = nil, 0 // not kept
	list, err := h.Conversations(ctx, Done{})
	require.NoError(t, err)
	all, err := json.MarshalIndent([]any{
		feed, list, append([]Update{}, h.Pending("default")...), append([]Update{}, h.Pending("second")...),
	}, "", " ")
	require.NoError(t, err)
	return string(all)
}

func TestReopen(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "deep", "console.jsonl")
	h := openFile(t, path)
	m := say(t, h, "one")
	say(t, h, "two")
	_, err := h.Change(ctx, MessageChange{By: User{ID: Local}, ID: m.ID, Op: OpEdit, Text: "one!"})
	require.NoError(t, err)
	thread, err := h.OpenThread(ctx, OpenRequest{Account: "default", Conversation: Main, Title: "cats", Intent: "i"})
	require.NoError(t, err)
	sent, err := h.Send(ctx, SendRequest{Account: "default", Conversation: Main, Thread: thread.ID, Text: "hi", Key: "k"})
	require.NoError(t, err)
	require.NoError(t, h.Acknowledge(PollRequest{Account: "default", After: h.Pending("default")[0].Seq}))
	before := knows(t, h)
	require.NoError(t, h.Close())

	h = openFile(t, path)
	require.Equal(t, before, knows(t, h))
	again, err := h.Send(ctx, SendRequest{Account: "default", Conversation: Main, Thread: thread.ID, Text: "hi", Key: "k"})
	require.NoError(t, err)
	require.Equal(t, sent, again, "keys are kept")
	require.NoError(t, h.Close())

	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestTornLastLine(t *testing.T) {
	for _, torn := range []string{`{"seq":9`, "{\"seq\":9\n", "\x00\x00\x00", "\x00\x00\n"} {
		t.Run(fmt.Sprintf("%q", torn), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "console.jsonl")
			h := openFile(t, path)
			say(t, h, "kept")
			before := knows(t, h)
			require.NoError(t, h.Close())
			appendTo(t, path, torn)

			h = openFile(t, path)
			require.Equal(t, before, knows(t, h))
			say(t, h, "after")
			before = knows(t, h)
			require.NoError(t, h.Close())
			h = openFile(t, path)
			require.Equal(t, before, knows(t, h))
			require.NoError(t, h.Close())
		})
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestFilesThatAreRefused(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"damaged in the middle", "{\"console\":1}\n{\"seq\":\n{\"seq\":3}\n", "line 2"},
		{"newer", "{\"console\":2}\n{\"seq\":3}\n", "newer version"},
		{"newer and empty", "{\"console\":2}\n", "newer version"},
		{"not a journal", "#!/bin/sh\necho\n", "line 1"},
		{"not a journal, one line", "remember the milk", "line 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "console.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(tt.file), 0o600))
			_, err := Open(Options{Path: path, Clock: clock.Real{}})
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, "console_journal", core.ErrorCode(err))
			kept, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, tt.file, string(kept), "a refused file is left alone")
		})
	}
	_, err := Open(Options{Path: t.TempDir(), Clock: clock.Real{}})
	require.Equal(t, "console_journal", core.ErrorCode(err), "a folder is no file")
}

func TestCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.jsonl")
	h := openFile(t, path)
	ids := []string{}
	for i := range 20 {
		ids = append(ids, say(t, h, fmt.Sprintf("message %d %s", i, strings.Repeat("x", 100))).ID)
	}
	pending := h.Pending("default")
	require.NoError(t, h.Close())
	before, err := os.Stat(path)
	require.NoError(t, err)

	small := func(o *Options) { o.CompactOver, o.Keep = 1, 5 }
	h = openFile(t, path, small)
	feed, err := h.Feed(context.Background(), FeedRequest{})
	require.NoError(t, err)
	require.Len(t, feed.Messages, 5)
	require.Equal(t, ids[15], feed.Messages[0].ID)
	require.Equal(t, pending, h.Pending("default"), "updates are never dropped")
	kept := knows(t, h)
	next := say(t, h, "after")
	require.NotContains(t, ids, next.ID)
	require.NoError(t, h.Close())
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, after.Size(), before.Size())

	h = openFile(t, path, small)
	require.NotEqual(t, kept, knows(t, h))
	require.NoError(t, h.Close())
	_, err = os.Stat(path + ".new")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestIdsOfASuccessorAreOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.jsonl")
	c := clock.NewVirtual(core.Millis(1_000_000).Time(), noCount{})
	on := func(o *Options) { o.Clock = c }
	h := openFile(t, path, on)
	first := say(t, h, "one")
	cursor := h.Pending("default")[0].Seq
	require.NoError(t, h.Close())
	require.NoError(t, os.Remove(path))

	c.AdvanceTo(core.Millis(2_000_000).Time())
	h = openFile(t, path, on)
	second := say(t, h, "two")
	require.NotEqual(t, first.ID, second.ID)
	got, err := h.Poll(context.Background(), PollRequest{Account: "default", After: cursor})
	require.NoError(t, err)
	require.Len(t, got.Updates, 1, "an old cursor acknowledges nothing of it")
	require.NoError(t, h.Close())
}

type noCount struct{}

func (noCount) Add(int) {}

// TestDiskFull: what cannot be stored is refused and not visible, then or
// later; when there is room again the hub goes on.
func TestDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.jsonl")
	full := false
	h := openFile(t, path, func(o *Options) {
		o.sync = func(f *os.File) error {
			if full {
				return errors.New("no space left on device")
			}
			return f.Sync()
		}
	})
	say(t, h, "kept")
	before := knows(t, h)
	full = true
	_, err := h.Post(context.Background(), Post{By: User{ID: Local}, Conversation: Main, Text: "lost"})
	require.ErrorContains(t, err, "no space left")
	require.Equal(t, before, knows(t, h))
	full = false
	say(t, h, "kept too")
	before = knows(t, h)
	require.NoError(t, h.Close())
	h = openFile(t, path)
	require.Equal(t, before, knows(t, h))
	require.NoError(t, h.Close())
}

// TestFileLost: a file in an unknown state takes nothing more.
func TestFileLost(t *testing.T) {
	h := openFile(t, filepath.Join(t.TempDir(), "console.jsonl"))
	before := knows(t, h)
	require.NoError(t, h.journal.file.Close())
	for range 2 { // the second finds the journal marked as broken
		_, err := h.Post(context.Background(), Post{By: User{ID: Local}, Conversation: Main, Text: "lost"})
		refusal := new(Error)
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, 507, refusal.Status)
		require.Equal(t, before, knows(t, h))
	}
	require.Error(t, h.journal.broken)
	require.Error(t, h.Close())
}

// TestHubIsItsJournal changes a hub at random and opens its file again, at
// times with a torn line or through a compaction: it is the same hub.
func TestHubIsItsJournal(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprintf("%d.jsonl", n))
		m := &machine{hub: openFile(t, path, unsynced), path: path}
		defer func() { require.NoError(t, m.hub.Close()) }()
		t.Repeat(rapid.StateMachineActions(m))
	})
}

// machine acts on a hub at random. Refusals are part of the game.
type machine struct {
	hub      *Hub
	path     string
	messages []string
	threads  []string
}

func pick(t *rapid.T, list []string, what string) string {
	return rapid.SampledFrom(append([]string{""}, list...)).Draw(t, what)
}

func (m *machine) Post(t *rapid.T) {
	got, err := m.hub.Post(context.Background(), Post{
		By:           User{ID: rapid.SampledFrom([]string{Local, "alice"}).Draw(t, "who")},
		Conversation: rapid.SampledFrom([]string{Main, "team", "team.2"}).Draw(t, "where"),
		Thread:       pick(t, m.threads, "thread"),
		Text:         rapid.String().Draw(t, "text"),
		ReplyTo:      pick(t, m.messages, "reply to"),
	})
	if err == nil {
		m.messages = append(m.messages, got.ID)
	}
}

func (m *machine) Send(t *rapid.T) {
	got, err := m.hub.Send(context.Background(), SendRequest{
		Account:      rapid.SampledFrom([]string{"default", "second"}).Draw(t, "account"),
		Conversation: rapid.SampledFrom([]string{Main, "team"}).Draw(t, "where"),
		Thread:       pick(t, m.threads, "thread"),
		Text:         rapid.String().Draw(t, "text"),
		Key:          rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "key"),
	})
	if err == nil {
		m.messages = append(m.messages, got.ID)
	}
}

func (m *machine) Change(t *rapid.T) {
	_, _ = m.hub.Change(context.Background(), MessageChange{
		By:   User{ID: rapid.SampledFrom([]string{Local, "alice"}).Draw(t, "who")},
		ID:   pick(t, m.messages, "message"),
		Op:   rapid.SampledFrom([]ChangeOp{OpEdit, OpDelete, OpReact, OpPress}).Draw(t, "op"),
		Text: rapid.String().Draw(t, "text"),
	})
}

func (m *machine) Open(t *rapid.T) {
	got, err := m.hub.OpenThread(context.Background(), OpenRequest{
		Account: "default", Conversation: rapid.SampledFrom([]string{Main, "team"}).Draw(t, "where"),
		Title: rapid.String().Draw(t, "title"), Intent: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "intent"),
	})
	if err == nil {
		m.threads = append(m.threads, got.ID)
	}
}

func (m *machine) Thread(t *rapid.T) {
	_, _ = m.hub.ChangeThread(context.Background(), ThreadChange{
		Thread: pick(t, m.threads, "thread"), Title: rapid.String().Draw(t, "title"),
		Op: rapid.SampledFrom([]ThreadOp{
			ThreadArchive, ThreadUnarchive, ThreadLock, ThreadUnlock, ThreadRename, ThreadDelete,
		}).Draw(t, "op"),
	})
}

func (m *machine) Group(t *rapid.T) {
	account := rapid.SampledFrom([]string{"default", "second"}).Draw(t, "account")
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		_ = m.hub.OpenConversation(Conversation{ID: "team", Kind: core.Group, Accounts: []string{account}})
	case 1:
		_ = m.hub.Kick(account, "team")
	case 2:
		_ = m.hub.Permit(account, "team")
	case 3:
		_, _ = m.hub.Migrate("team")
	}
}

func (m *machine) Acknowledge(t *rapid.T) {
	if queue := m.hub.Pending("default"); len(queue) > 0 {
		last := rapid.SampledFrom(queue).Draw(t, "up to").Seq
		require.NoError(t, m.hub.Acknowledge(PollRequest{Account: "default", After: last}))
	}
}

func (m *machine) Reopen(t *rapid.T) {
	before := knows(t, m.hub)
	require.NoError(t, m.hub.Close())
	if rapid.Bool().Draw(t, "torn") {
		f, err := os.OpenFile(m.path, os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		_, err = f.WriteString(`{"seq":1,"mess`)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	compact := rapid.Bool().Draw(t, "compact")
	m.hub = openFile(t, m.path, unsynced, func(o *Options) {
		if compact {
			o.CompactOver = 1
		}
	})
	require.Equal(t, before, knows(t, m.hub))
}

// Check is what always holds: an account's queue grows, ids are unique.
func (m *machine) Check(t *rapid.T) {
	last := uint64(0)
	for _, u := range m.hub.Pending("default") {
		require.Greater(t, u.Seq, last)
		last = u.Seq
	}
}

// FuzzJournal opens files of any content: they are read or refused, never
// worse, and what was read once is read again.
func FuzzJournal(f *testing.F) {
	f.Add([]byte("{\"console\":1}\n{\"seq\":1,\"messages\":[{\"id\":\"m1\",\"changed\":1}]}\n"))
	f.Add([]byte("{\"console\":1}\n{\"seq\":1,\"ack\":{\"account\":\"a\",\"seq\":5}}\n{\"se"))
	f.Add([]byte("{\"console\":3}\n"))
	f.Add([]byte("\x00\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "console.jsonl")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		o := Options{Path: path, Clock: clock.Real{}}
		unsynced(&o)
		h, err := Open(o)
		if err != nil {
			kept, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, kept))
			return
		}
		before := knows(t, h)
		require.NoError(t, h.Close())
		h = openFile(t, path, unsynced)
		require.Equal(t, before, knows(t, h))
		require.NoError(t, h.Close())
	})
}
