package convtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/skein-bot/skein/convtest/script"
)

// Failure is a line that did not hold.
type Failure struct {
	File string `json:"file"`
	// Line is 0 where the fault is in no line, and Text then empty.
	Line int    `json:"line"`
	Text string `json:"text,omitempty"`
	// Expected says what the line wanted, or what went wrong.
	Expected string `json:"expected"`
	// At is the script's time since its start.
	At string `json:"at"`
	// Seen is what was there instead: the last messages of the place, with >
	// before those that no line has consumed, or what a command printed.
	Seen []string `json:"seen,omitempty"`
	// Elsewhere are unseen messages of the bot in other places than that.
	Elsewhere []string `json:"elsewhere,omitempty"`
	// Log holds the last warnings of the runtime.
	Log []string `json:"log,omitempty"`
	// Seed replays the play; Killed is where its random kill was, "" if there
	// was none.
	Seed   uint64 `json:"seed"`
	Killed string `json:"killed,omitempty"`
	Down   bool   `json:"down,omitempty"` // the runtime did not run
}

// String returns the whole report on several lines.
func (f *Failure) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d: %s", f.Line, f.Text)
	}
	fmt.Fprintf(&b, "\n    expected  %s\n    at        %s", indent(f.Expected, 14), f.At)
	if f.Down {
		b.WriteString(", the runtime is down")
	}
	if f.Killed != "" {
		b.WriteString(", it was killed at " + f.Killed)
	}
	b.WriteString("\n")
	section(&b, "seen", f.Seen)
	section(&b, "unseen", f.Elsewhere)
	section(&b, "log", f.Log)
	return strings.TrimRight(b.String(), "\n")
}

func section(b *strings.Builder, name string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "    %s\n", name)
	for _, l := range lines {
		fmt.Fprintf(b, "        %s\n", indent(l, 12))
	}
}

// failedError ends a play with its report.
type failedError struct{ report *Failure }

func (e failedError) Error() string { return e.report.String() }

// failure makes the report about a line.
func (p *play) failure(line script.Line, err error) error {
	if bad := new(badScriptError); errors.As(err, bad) {
		return err
	}
	f := &Failure{
		File: p.script.Name, Line: line.No, Text: line.Text, Expected: err.Error(), At: p.elapsed(), Seed: p.seed, Down: !p.stage.up(),
		Log: p.log.lines(),
	}
	_, f.Killed = p.stage.watch.count()
	var e *expectError
	if !errors.As(err, &e) {
		f.Expected = "the line to work: " + err.Error()
		return failedError{f}
	}
	f.Expected, f.Seen = e.expected, e.seen
	if e.at != nil {
		f.Seen = p.lastMessages(*e.at)
	}
	f.Elsewhere = p.unseenElsewhere(e.at)
	return failedError{f}
}

// How much a report shows.
const (
	reportMessages  = 10
	reportElsewhere = 20
	reportText      = 600
)

// lastMessages returns the newest messages of a place.
func (p *play) lastMessages(s spot) []string {
	unseen := make(map[string]bool)
	for _, m := range s.unseen() {
		unseen[m.ID] = true
	}
	all := s.server.Messages(s.at)
	list := []string{"nothing at " + title(s)}
	if len(all) > 0 {
		list = []string{fmt.Sprintf("at %s, > is unseen:", title(s))}
	}
	for _, m := range all[max(0, len(all)-reportMessages):] {
		mark := "  "
		if unseen[m.ID] {
			mark = "> "
		}
		list = append(list, fmt.Sprintf("%s%s: %s", mark, p.who(s, m), shorten(m.Text)))
	}
	return list
}

// unseenElsewhere returns the unseen messages of all places but one.
func (p *play) unseenElsewhere(but *spot) []string {
	var list []string
	for _, s := range p.spots() {
		if but != nil && s == *but {
			continue
		}
		for _, m := range s.unseen() {
			if len(list) == reportElsewhere {
				return append(list, "...")
			}
			list = append(list, fmt.Sprintf("%s: %s", title(s), shorten(m.Text)))
		}
	}
	return list
}

func shorten(text string) string {
	if runes := []rune(text); len(runes) > reportText {
		return string(runes[:reportText]) + "..."
	}
	return text
}

// recentLog is a slog.Handler that keeps the last warnings.
type recentLog struct {
	mu   sync.Mutex
	list []string
	with []slog.Attr
	base *recentLog // where the lines are kept, nil for itself
}

const logKept = 10

var _ slog.Handler = (*recentLog)(nil)

// Enabled implements slog.Handler.
func (l *recentLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements slog.Handler.
func (l *recentLog) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Level.String() + " " + r.Message)
	write := func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		return true
	}
	for _, a := range l.with {
		write(a)
	}
	r.Attrs(write)
	root := l.root()
	root.mu.Lock()
	defer root.mu.Unlock()
	root.list = append(root.list, b.String())
	root.list = root.list[max(0, len(root.list)-logKept):]
	return nil
}

func (l *recentLog) root() *recentLog {
	if l.base != nil {
		return l.base
	}
	return l
}

// WithAttrs implements slog.Handler.
func (l *recentLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &recentLog{with: append(l.with[:len(l.with):len(l.with)], attrs...), base: l.root()}
}

// WithGroup implements slog.Handler; groups are not shown.
func (l *recentLog) WithGroup(string) slog.Handler { return l }

func (l *recentLog) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.list...)
}
