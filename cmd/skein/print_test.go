package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/clock"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0s"}, {999 * time.Millisecond, "0s"}, {45 * time.Second, "45s"}, {time.Minute, "1m"}, {61 * time.Second, "1m 1s"},
		{150 * time.Minute, "2h 30m"}, {2*time.Hour + 5*time.Second, "2h"}, {72 * time.Hour, "3d"}, {25*time.Hour + time.Minute, "1d 1h"},
	} {
		require.Equal(t, c.want, duration(c.d), c.d)
	}
	require.Equal(t, "off", limitText(0))
	require.Equal(t, "1m 30s", limitText(90_000))
}

func TestTimes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := printer{zone: time.FixedZone("CET", 3600), now: core.ToMillis(now)}
	require.Equal(t, "-", p.time(0))
	require.Equal(t, "2026-01-02T04:04:05+01:00", p.time(p.now))
	require.Equal(t, "-", p.until(0))
	require.Equal(t, "2026-01-02T04:04:05+01:00 (now)", p.until(p.now))
	require.Equal(t, "2026-01-02T05:34:05+01:00 (in 1h 30m)", p.until(p.now.Add(90*time.Minute)))
	require.Empty(t, p.at(0).text)
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	p := printer{w: &out}
	p.table("nothing", []string{"NAME", "STATE", "TEXT"}, nil)
	require.Equal(t, "nothing\n", out.String())

	out.Reset()
	rows := [][]cell{{{text: "猫"}, stateCell("running"), {text: "a b"}}, {{text: "a longer name"}, stateCell("ok"), {}}}
	p.table("nothing", []string{"NAME", "STATE", "TEXT"}, rows)
	require.Equal(t, strings.Join([]string{
		"NAME           STATE    TEXT",
		"猫             running  a b",
		"a longer name  ok",
		"",
	}, "\n"), out.String())

	out.Reset()
	p.color = true
	p.table("nothing", []string{"STATE"}, [][]cell{{stateCell("failed")}, {stateCell("sent")}})
	require.Equal(t, "\x1b[2mSTATE\x1b[0m\n\x1b[31mfailed\x1b[0m\n\x1b[32msent\x1b[0m\n", out.String())
}

func TestFields(t *testing.T) {
	var out bytes.Buffer
	printer{w: &out}.fields(field{"id", cell{text: "7"}}, field{"left out", cell{}}, field{"text", cell{text: "one\ntwo"}})
	require.Equal(t, "id    7\ntext  one\n      two\n", out.String())
}

func TestColorOnlyOnATerminal(t *testing.T) {
	e := &env{stdout: &bytes.Buffer{}, lookup: noVariables, clock: clock.Real{}}
	require.False(t, e.color())
	require.False(t, e.printer().color)
}

// TestB343_TheLogFollowsItsLevel: logging.level is a live key.
func TestB343_TheLogFollowsItsLevel(t *testing.T) {
	level := func(word string) *config.Config {
		cfg, _, err := config.Parse("<test>", []byte(`{ logging: { level: "`+word+`" } }`), config.Options{})
		require.NoError(t, err)
		return cfg
	}
	var out bytes.Buffer
	log := newLog(level("warn"), &out)
	log.Info("first")
	log.follow(level("debug"))
	log.Debug("second")
	log.follow(level("error"))
	log.Warn("third")
	require.NotContains(t, out.String(), "first")
	require.Contains(t, out.String(), "second")
	require.NotContains(t, out.String(), "third")
}

// What models and strangers wrote moves no cursor, sets no title and breaks no
// table.
func TestTextsCommandNoTerminal(t *testing.T) {
	var out bytes.Buffer
	p := printer{w: &out, zone: time.UTC}
	evil := "a\x1b[2J\x1b]0;title\x07\u009b31m\r\nb" + strings.Repeat("x", 100)
	detail := app.TaskDetail{TaskView: app.TaskView{ID: "01T", Name: evil}, Task: evil, Result: evil}
	taskTable(p, []app.TaskView{detail.TaskView})
	require.Equal(t, 2, strings.Count(out.String(), "\n"), "a line of heads and one of the task")
	require.NotContains(t, out.String(), strings.Repeat("x", 60), "a long name is cut")
	showTask(p, detail)
	showTrace(p, app.TraceView{Above: []app.TaskView{detail.TaskView}, Steps: []app.TraceStep{{Kind: "task", Text: evil}}})
	require.NotRegexp(t, "[\x00-\x08\x0b-\x1f\u0080-\u009f]", out.String())
	require.Contains(t, out.String(), "\ufffd[2J")
}
