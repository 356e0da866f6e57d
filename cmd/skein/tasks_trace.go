package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/skein-bot/skein/core/app"
)

// showTrace prints the tree of a task: a line for each step, what is below a
// task further to the right.
func showTrace(p printer, t app.TraceView) {
	for i, above := range t.Above {
		fmt.Fprintf(p.w, "%s%s %s %s  %s\n", strings.Repeat("  ", i), p.paint(moodDim, "above"), inLine(above.Name), p.state(above.Status), above.ID)
	}
	for _, s := range t.Steps {
		indent := strings.Repeat("  ", len(t.Above)+s.Level)
		if s.Kind != "task" {
			indent += "  "
		}
		line := indent + p.paint(moodDim, p.time(s.At)) + " " + s.Kind
		if s.State != "" {
			line += " " + p.state(s.State)
		}
		if s.EndedAt > s.At {
			line += fmt.Sprintf(" (%s)", s.EndedAt.Sub(s.At))
		}
		if s.Model != "" {
			line += " " + inLine(s.Model)
		}
		if s.FirstAfter > 0 {
			line += fmt.Sprintf(" (first after %s)", time.Duration(s.FirstAfter)*time.Millisecond)
		}
		if s.TokensIn+s.TokensOut > 0 {
			line += fmt.Sprintf(" [%d/%d tokens, %s]", s.TokensIn, s.TokensOut, costCell(s.TokensIn+s.TokensOut, s.MicroUSD, s.Unpriced).text)
		}
		if s.Address != "" {
			line += " " + s.Address
		}
		if len(s.Receipts) > 0 {
			line += " #" + strings.Join(s.Receipts, " #")
		}
		line += "  " + inLine(s.Text)
		if s.Kind == "task" {
			line += "  " + p.paint(moodDim, s.TaskID)
		}
		fmt.Fprintln(p.w, line)
	}
	if t.Cut {
		fmt.Fprintln(p.w, "... and more tasks")
	}
}

// state writes a state as it looks in tables.
func (p printer) state(s any) string {
	c := stateCell(fmt.Sprint(s))
	return p.paint(c.mood, c.text)
}
