package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"github.com/skein-bot/skein/core"
)

// printer writes what commands show: tables and fields for people, JSON for
// programs.
type printer struct {
	w     io.Writer
	color bool
	zone  *time.Location
	now   core.Millis
}

func (e *env) printer() printer {
	return printer{w: e.stdout, color: e.color(), zone: e.zone, now: core.ToMillis(e.clock.Now())}
}

// color tells whether the output is a terminal that may be coloured.
func (e *env) color() bool {
	if value, set := e.lookup("NO_COLOR"); set && value != "" {
		return false
	}
	if value, _ := e.lookup("TERM"); value == "dumb" {
		return false
	}
	return isTerminal(e.stdout)
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// json writes a value, indented.
func (p printer) json(value any) error {
	enc := json.NewEncoder(p.w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// cell is one cell of a table.
type cell struct {
	text string
	mood mood
}

// mood is how a state looks.
type mood int

const (
	moodPlain mood = iota
	moodGood
	moodBusy
	moodBad
	moodDim
)

// colors are the ANSI codes of moods.
func (m mood) code() string {
	return [...]string{moodPlain: "", moodGood: "32", moodBusy: "33", moodBad: "31", moodDim: "2"}[m]
}

func (p printer) paint(m mood, text string) string {
	if !p.color || m == moodPlain || text == "" {
		return text
	}
	return "\x1b[" + m.code() + "m" + text + "\x1b[0m"
}

func plainCell(format string, args ...any) cell {
	return cell{text: harmless(fmt.Sprintf(format, args...))}
}

// harmless takes out of a text what would command a terminal: labels, tasks and
// results are written by models and by strangers.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// inLine is a harmless text without line breaks.
func inLine(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(harmless(text))
}

// moods says how the states of everything look, so that a word looks the same
// in every table.
func stateCell[S ~string](state S) cell {
	switch string(state) {
	case "running", "sending", "starting", "queued", "retrying", "pending", "session_queued", "waiting", "suspended", "held":
		return cell{string(state), moodBusy}
	case "active", "sent", "succeeded", "delivered", "done":
		return cell{string(state), moodGood}
	case "failed", "blocked", "ambiguous", "timed_out", "interrupted", "over_budget", "stopped", "dead":
		return cell{string(state), moodBad}
	}
	return cell{string(state), moodDim}
}

// table writes rows under a head; columns are as wide as their widest cell.
// Without rows it says what there is none of.
func (p printer) table(none string, head []string, rows [][]cell) {
	if len(rows) == 0 {
		fmt.Fprintln(p.w, none)
		return
	}
	width := make([]int, len(head))
	for i, h := range head {
		width[i] = len(h)
	}
	for _, row := range rows {
		for i := range row {
			c := &row[i]
			c.text = inLine(c.text)
			width[i] = max(width[i], uniseg.StringWidth(c.text))
		}
	}
	titles := make([]cell, len(head))
	for i, h := range head {
		titles[i] = cell{h, moodDim}
	}
	for _, row := range append([][]cell{titles}, rows...) {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(p.paint(c.mood, c.text))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", width[i]-uniseg.StringWidth(c.text)+2))
			}
		}
		fmt.Fprintln(p.w, strings.TrimRight(line.String(), " "))
	}
}

// field is one line of a detail.
type field struct {
	name  string
	value cell
}

// fields writes the lines of a detail, those without a value left out.
func (p printer) fields(list ...field) {
	width := 0
	for _, f := range list {
		if f.value.text != "" {
			width = max(width, len(f.name))
		}
	}
	for _, f := range list {
		if f.value.text == "" {
			continue
		}
		indent := "\n" + strings.Repeat(" ", width+2)
		text := strings.ReplaceAll(p.paint(f.value.mood, f.value.text), "\n", indent)
		fmt.Fprintf(p.w, "%s%s%s\n", p.paint(moodDim, f.name), strings.Repeat(" ", width-len(f.name)+2), text)
	}
}

// section writes the title of a part of a detail.
func (p printer) section(title string) { fmt.Fprintf(p.w, "\n%s\n", p.paint(moodDim, title)) }

// time writes a time as RFC 3339, "-" for none.
func (p printer) time(ms core.Millis) string {
	if ms == 0 {
		return "-"
	}
	return ms.Time().In(p.zone).Format(time.RFC3339)
}

// at is time for a field: none is no line.
func (p printer) at(ms core.Millis) cell {
	if ms == 0 {
		return cell{}
	}
	return plainCell("%s", p.time(ms))
}

// until writes a time to come with how long it is until then.
func (p printer) until(ms core.Millis) string {
	if ms == 0 {
		return "-"
	}
	left := ms.Sub(p.now)
	if left <= 0 {
		return p.time(ms) + " (now)"
	}
	return fmt.Sprintf("%s (in %s)", p.time(ms), duration(left))
}

// duration writes a length of time in its two largest units: 45s, 2h 30m, 3d.
func duration(d time.Duration) string {
	units := []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.length {
			continue
		}
		text := fmt.Sprintf("%d%s", d/u.length, u.name)
		if i+1 < len(units) {
			if rest := d % u.length / units[i+1].length; rest > 0 {
				text += fmt.Sprintf(" %d%s", rest, units[i+1].name)
			}
		}
		return text
	}
	return "0s"
}

// limitText writes a limit in milliseconds; 0 is none.
func limitText(ms int64) string {
	if ms == 0 {
		return "off"
	}
	return duration(time.Duration(ms) * time.Millisecond)
}

// orDash is for cells: an empty one shows a dash.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// costCell is what tokens cost, "-" where none of them has a price.
func costCell(tokens, microUSD, unpriced int64) cell {
	if tokens == 0 || unpriced >= tokens {
		return plainCell("-")
	}
	return plainCell("%s", core.Usage{TokensOut: tokens, MicroUSD: microUSD, Unpriced: unpriced}.Cost())
}
