package convtest

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// reporter prints results for people, or all of them as one JSON object.
type reporter struct {
	out   io.Writer
	json  bool
	race  bool
	width int // of the longest name
}

func newReporter(o Options, files []string) *reporter {
	r := &reporter{out: o.Out, json: o.JSON, race: o.RaceKill}
	if r.out == nil {
		r.out = io.Discard
	}
	for _, f := range files {
		r.width = max(r.width, len(f))
	}
	return r
}

// result prints what became of one script.
func (r *reporter) result(res Result) {
	if r.json {
		return
	}
	if res.Transcript != "" {
		fmt.Fprintf(r.out, "=== %s\n%s", res.File, res.Transcript)
	}
	switch res.Status {
	case Pass:
		fmt.Fprintf(r.out, "ok    %-*s  %6.2fs%s\n", r.width, res.File, float64(res.WallMs)/1000, r.details(res))
	case Fail:
		fmt.Fprintf(r.out, "FAIL  %s\n    replay    %s\n", res.Failure, r.replay(res.Failure))
	case Bad:
		fmt.Fprintf(r.out, "BAD   %s\n", strings.Join(res.Problems, "\n      "))
	}
}

func (r *reporter) details(res Result) string {
	text := fmt.Sprintf("  %s of its own", time.Duration(res.VirtualMs)*time.Millisecond)
	switch {
	case res.NoRaceKill != "":
		text += ", without kills: " + res.NoRaceKill
	case r.race:
		text += fmt.Sprintf(", %d plays with %d kills", res.Plays, res.Kills)
	case res.Plays > 1:
		text += fmt.Sprintf(", %d plays", res.Plays)
	}
	if len(res.Unpassed) > 0 {
		text += ", never passed: " + strings.Join(res.Unpassed, ", ")
	}
	return text
}

// replay is the command that plays the same again.
func (r *reporter) replay(f *Failure) string {
	race := ""
	if f.Killed != "" {
		race = " --race-kill --repeat 1"
	}
	return fmt.Sprintf("skein test %s%s --seed %d", f.File, race, f.Seed)
}

// summary prints the sums.
func (r *reporter) summary(s Summary) {
	if r.json {
		e := json.NewEncoder(r.out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false) // `console/main < /x/` stays readable
		_ = e.Encode(s)        // a reader that went away is told nothing
		return
	}
	text := fmt.Sprintf("%d passed", s.Passed)
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	if s.Bad > 0 {
		text += fmt.Sprintf(", %d bad", s.Bad)
	}
	if r.race {
		text += fmt.Sprintf(", seed %d", s.Seed)
	}
	fmt.Fprintln(r.out, text)
}
