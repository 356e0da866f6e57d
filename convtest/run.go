package convtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skein-bot/skein/convtest/script"
	"github.com/skein-bot/skein/core/store"
)

// Summary is what became of all scripts.
type Summary struct {
	Files []Result `json:"files"`
	// Passed, Failed and Bad count scripts.
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	Bad    int `json:"bad"`
	// Seed is that of the first play of each script.
	Seed uint64 `json:"seed"`
}

// ExitCode is 0 if every script passed, 2 if one is no script, else 1.
func (s Summary) ExitCode() int {
	switch {
	case s.Bad > 0:
		return 2
	case s.Failed > 0:
		return 1
	}
	return 0
}

// Status is what became of a script.
type Status string

// The statuses.
const (
	Pass Status = "pass"
	Fail Status = "fail"
	Bad  Status = "bad" // it is no script, or cannot be set up
)

// Result is what became of one script.
type Result struct {
	File   string `json:"file"`
	Status Status `json:"status"`
	Plays  int    `json:"plays"`
	// Kills counts the random kills that happened: a play that did not come to
	// the chosen pass of a crash point has none.
	Kills     int   `json:"kills"`
	WallMs    int64 `json:"wallMs"`
	VirtualMs int64 `json:"virtualMs"` // of the last play
	// NoRaceKill is the reason of a script that is not played with kills.
	NoRaceKill string   `json:"noRaceKill,omitempty"`
	Failure    *Failure `json:"failure,omitempty"`
	// Unpassed are crash points that `crash` lines armed and the world never
	// passed: those lines tested nothing.
	Unpassed []string `json:"unpassed,omitempty"`
	// Problems are what is wrong with a bad script, one line each.
	Problems   []string `json:"problems,omitempty"`
	Transcript string   `json:"transcript,omitempty"` // with Verbose
}

// ErrNoScripts is returned for paths below which there is no script.
var ErrNoScripts = errors.New("no conversation script (*.txtar) found")

// Run plays scripts, several at once, and reports on Options.Out as they end,
// in the order of their names. Its error says that nothing could be played: a
// path does not exist or holds no script. What is wrong with a script is in the
// summary.
func Run(ctx context.Context, o Options) (sum Summary, err error) {
	files, err := findScripts(o.Paths)
	if err != nil {
		return Summary{}, err
	}
	if o.StateDir != "" && (len(files) > 1 || o.Repeat > 1 || o.RaceKill) {
		return Summary{}, errors.New("a store can be kept of one script, played once")
	}
	if o.Seed == 0 {
		o.Seed = 1
		if o.RaceKill {
			o.Seed = 1 + uint64(rand.Uint32())
		}
	}
	if o.Store != "" {
		if o.places, err = store.NewScratches(o.Store); err != nil {
			return Summary{}, err
		}
		defer func() { err = errors.Join(err, o.places.Close(context.WithoutCancel(ctx))) }()
	} else if o.template, err = store.NewTemplate(ctx); err != nil {
		return Summary{}, err
	}
	sum = Summary{Seed: o.Seed}
	out := newReporter(o, files)
	for result := range o.playAll(ctx, files) {
		sum.Files = append(sum.Files, result)
		switch result.Status {
		case Pass:
			sum.Passed++
		case Fail:
			sum.Failed++
		case Bad:
			sum.Bad++
		}
		out.result(result)
	}
	out.summary(sum)
	return sum, context.Cause(ctx)
}

// findScripts returns the files that paths stand for, each once.
func findScripts(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(name) == ".txtar" {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)
	if len(files) == 0 {
		return nil, fmt.Errorf("%w in %s", ErrNoScripts, strings.Join(paths, ", "))
	}
	return files, nil
}

// playAll plays files at the same time and yields their results in order.
func (o Options) playAll(ctx context.Context, files []string) func(func(Result) bool) {
	return func(yield func(Result) bool) {
		limit := o.Parallel
		if limit <= 0 {
			limit = runtime.GOMAXPROCS(0)
		}
		results := make([]chan Result, len(files))
		for i := range results {
			results[i] = make(chan Result, 1)
		}
		var workers sync.WaitGroup
		defer workers.Wait()
		next := make(chan int)
		for range min(limit, len(files)) {
			workers.Go(func() {
				for i := range next {
					results[i] <- o.playFile(ctx, files[i])
				}
			})
		}
		workers.Go(func() {
			defer close(next)
			for i := range files {
				next <- i
			}
		})
		for i := range files {
			if !yield(<-results[i]) {
				return
			}
		}
	}
}

// playFile plays one script as often as it is asked for.
func (o Options) playFile(ctx context.Context, path string) (r Result) {
	began := time.Now()
	r = Result{File: filepath.ToSlash(path), Status: Pass}
	defer func() { r.WallMs = time.Since(began).Milliseconds() }()
	src, err := os.ReadFile(path)
	if err != nil {
		r.bad(err)
		return r
	}
	s, err := script.Parse(r.File, src)
	if err != nil {
		r.bad(err)
		return r
	}
	times, race := max(o.Repeat, 1), o.RaceKill
	for _, l := range s.Lines {
		if off, ok := l.Do.(script.NoRaceKill); ok && race {
			r.NoRaceKill, race, times = off.Reason, false, 1
		}
	}
	passes := 0
	if race { // the first play is for counting
		last, ok := o.playOnce(ctx, s, o.Seed, 0, &r)
		if !ok {
			return r
		}
		passes = last.passes
	}
	for i := range times {
		seed, killAt := o.Seed+uint64(i), 0
		if passes > 0 {
			killAt = 1 + rand.New(rand.NewPCG(seed, 0x5ce1)).IntN(passes)
		}
		if _, ok := o.playOnce(ctx, s, seed, killAt, &r); !ok {
			return r
		}
	}
	return r
}

// playOnce plays a script and notes what became of it in r.
func (o Options) playOnce(ctx context.Context, s *script.Script, seed uint64, killAt int, r *Result) (played, bool) {
	p := &play{opts: o, script: s, seed: seed, killAt: killAt}
	last, err := p.run(ctx)
	r.Plays++
	r.VirtualMs = last.virtual.Milliseconds()
	r.Unpassed = last.unpassed
	if last.killed != "" {
		r.Kills++
	}
	if text := p.transcript.text(); text != "" {
		if r.Plays > 1 {
			r.Transcript += fmt.Sprintf("play %d, seed %d\n", r.Plays, seed)
		}
		r.Transcript += text
	}
	var bad badScriptError
	var failed failedError
	switch {
	case err == nil:
		return last, true
	case errors.As(err, &bad):
		r.bad(bad.err)
	case errors.As(err, &failed):
		r.Status, r.Failure = Fail, failed.report
	default:
		r.Status = Fail
		r.Failure = &Failure{File: r.File, Expected: "the script to be played: " + err.Error(), Seed: seed, At: p.elapsed()}
	}
	return last, false
}

// bad notes what is wrong with a script.
func (r *Result) bad(err error) {
	r.Status = Bad
	if list := script.Errors(err); len(list) > 0 {
		for _, e := range list {
			r.Problems = append(r.Problems, e.Error())
		}
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		r.Problems = append(r.Problems, r.File+": "+line)
	}
}
