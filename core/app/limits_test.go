package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store"
)

// answers counts the answers of the model among what was told in a place, and
// returns the rest.
func (s *scene) answers(place string) (n int, other []string) {
	s.Helper()
	for _, text := range s.told(place) {
		if strings.HasPrefix(text, "ok: ") {
			n++
		} else {
			other = append(other, text)
		}
	}
	return n, other
}

// TestOnePersonWritesTooFast: beyond the limit of a minute a person is told
// once an hour and is silent otherwise, over a crash too; others are not
// touched, and the owner never.
func TestOnePersonWritesTooFast(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ limits: { perUser: { messagesPerMinute: 3 } } }`, "")
	for i := range 3 {
		s.says("bob", "dm:bob", fmt.Sprint("message ", i))
	}
	s.crash(time.Second)
	for i := range 4 {
		s.says("bob", "dm:bob", fmt.Sprint("too much ", i))
	}
	n, other := s.answers("dm:bob")
	require.Equal(t, 3, n)
	require.Equal(t, []string{"You are faster than I am: this message was left out. Please wait a minute and send it again."}, other)
	s.says("bob", "dm:bob", "/status")
	require.Len(t, s.told("dm:bob"), 4, "commands count too")
	s.says("bob", "dm:bob", "/stop")
	require.Len(t, s.told("dm:bob"), 5, "a stop is always heard")
	s.says("mallory", "dm:mallory", "hello")
	require.Equal(t, []string{"ok: hello"}, s.told("dm:mallory"))
	for i := range 10 {
		s.say("team", fmt.Sprint("the owner ", i))
	}
	n, _ = s.answers("team")
	require.Equal(t, 10, n)

	s.pass(time.Minute)
	s.says("bob", "team", "a minute later, elsewhere")
	n, _ = s.answers("team")
	require.Equal(t, 11, n, "a minute gives everything back")

	s.reload(`{ limits: { perUser: { messagesPerMinute: 3 } }, messages: { language: "de" } }`)
	s.pass(time.Hour)
	for i := range 5 {
		s.says("bob", "dm:bob", fmt.Sprint("again ", i))
	}
	_, other = s.answers("dm:bob")
	require.Contains(t, other[len(other)-1], "(Davor wurden schon 4 ausgelassen.)", "an hour later it is said once more")
	s.pass(time.Hour)
	s.reload(`{ limits: { perUser: { messagesPerMinute: 0 } } }`)
	for i := range 30 {
		s.says("bob", "dm:bob", fmt.Sprint("free ", i))
	}
	n, _ = s.answers("dm:bob")
	require.Equal(t, 3+3+30, n)
}

// TestEachLimitIsTold: who was told to wait a minute is told all the same that
// the day is over, and each of the two only once an hour.
func TestEachLimitIsTold(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ limits: { perUser: { messagesPerMinute: 2, turnsPerDay: 3 } } }`, "")
	for i := range 4 {
		s.says("bob", "dm:bob", fmt.Sprint("fast ", i))
	}
	s.pass(2 * time.Minute)
	for i := range 3 {
		s.says("bob", "dm:bob", fmt.Sprint("slower ", i))
		s.pass(2 * time.Minute)
	}
	n, other := s.answers("dm:bob")
	require.Equal(t, 3, n)
	require.Len(t, other, 2)
	require.Contains(t, other[0], "wait a minute")
	require.Contains(t, other[1], "today")
}

// TestALimitIsTheAccounts: a channel and an account override the limit.
func TestALimitIsTheAccounts(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{
  limits: { perUser: { messagesPerMinute: 1 } },
  channels: { console: { limits: { perUser: { messagesPerMinute: 2 } } } },
}`, "")
	for i := range 3 {
		s.says("bob", "dm:bob", fmt.Sprint("message ", i))
	}
	n, other := s.answers("dm:bob")
	require.Equal(t, 2, n)
	require.Len(t, other, 1)
}

// TestADayHasSoManyTurns: never more turns than the limit start in a day, also
// where messages queue behind a long one or join it; the next day is a new one.
func TestADayHasSoManyTurns(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ limits: { perUser: { messagesPerMinute: 0, turnsPerDay: 3 } }, messages: { queue: { mode: "followup" } } }`,
		`{when: {user: "/^slow/"}, delay: "10s", say: "ok: slow"},`)
	s.says("bob", "dm:bob", "slow")
	for i := range 4 {
		s.says("bob", "dm:bob", fmt.Sprint("queued ", i))
	}
	s.says("bob", "team", "elsewhere")
	s.pass(time.Minute)
	n, other := s.answers("dm:bob")
	require.Equal(t, 3, n)
	require.Len(t, other, 1)
	require.Contains(t, other[0], "today")
	n, _ = s.answers("team")
	require.Zero(t, n)
	s.read(func(tx *store.Tx) error {
		turns, err := tx.TurnsOf("console:bob", 0)
		require.Equal(t, 3, turns)
		return err
	})
	s.says("bob", "dm:bob", "/status")
	require.Len(t, s.told("dm:bob"), 5, "commands are not turns")

	s.crash(12 * time.Hour) // past midnight
	s.says("bob", "dm:bob", "good morning")
	n, _ = s.answers("dm:bob")
	require.Equal(t, 4, n)
}

// TestADayCostsSoMuch: what a person's turns of the day have cost, those of
// sub-agents too, ends with the limit; the turn that goes over it is finished.
func TestADayCostsSoMuch(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{
  models: { providers: { demo: { models: [{ id: "m", cost: { input: 1, output: 10 } }] } } },
  limits: { perUser: { usdPerDay: 0.0055 } } }`, `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "dig"}}], usage: {in: 1, out: 0}},
  {when: {lastTool: "sessions_spawn"}, say: "ok: sent", usage: {in: 1, out: 0}},
  {when: {task: "/dig/"}, say: "a bone", usage: {in: 3000, out: 0}},
  {when: {event: "/bone/"}, say: "ok: a bone", usage: {in: 1, out: 0}},
  {say: "ok: yes", usage: {in: 0, out: 150}},`)
	s.says("bob", "dm:bob", "go")
	s.pass(time.Minute)
	s.says("bob", "dm:bob", "one")
	s.says("bob", "dm:bob", "two")
	s.says("bob", "dm:bob", "three")
	n, other := s.answers("dm:bob")
	require.Equal(t, 4, n, s.told("dm:bob"))
	require.Len(t, other, 1)
	require.Contains(t, other[0], "today")
	s.pass(12 * time.Hour)
	s.says("bob", "dm:bob", "the next day")
	n, _ = s.answers("dm:bob")
	require.Equal(t, 5, n)
}
