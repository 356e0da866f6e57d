package convtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/convtest/script"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// play is one time that a script is played. It is for one goroutine.
type play struct {
	opts   Options
	script *script.Script
	seed   uint64
	killAt int // the pass of the random kill, 0 for none

	dir, state string
	storeURL   string
	scratch    *store.Scratch // of the store; nil for a file
	channels   []*channel
	stage      *stage
	model      *recorder
	log        *recentLog
	transcript *transcript

	cfg    *config.Config
	owners []string // senders that lines called owner, so far

	vars     map[string]string
	wrote    []wrote // what people wrote and did not delete
	output   string  // of the last command
	exit     int
	ran      bool // there was a command
	current  int  // the index of the line that is played
	unpassed []string
}

// wrote is a message of a person.
type wrote struct {
	by string
	at spot
	id string
}

// channel is a channel of the script with its test server.
type channel struct {
	name   string
	entry  channels.Entry
	server testserver.Server
	reader *testserver.Reader
	// idempotent is set where a repeated send makes no second message.
	idempotent bool
	sent       sentWindow
}

// played is what became of a play.
type played struct {
	passes   int    // of crash points
	killed   string // the point of the random kill, "" if there was none
	virtual  time.Duration
	unpassed []string // crash points that were armed and never passed
}

// badScriptError is the error of a script that cannot be played at all.
type badScriptError struct{ err error }

func (e badScriptError) Error() string { return e.err.Error() }
func (e badScriptError) Unwrap() error { return e.err }

// run plays the script once. The error is a badScriptError or a failedError.
func (p *play) run(ctx context.Context) (result played, err error) {
	tmp, err := os.MkdirTemp("", "skein-test-")
	if err != nil {
		return played{}, err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // what is left in the folder for temporary files harms nobody
	p.dir, p.state = filepath.Join(tmp, "work"), filepath.Join(tmp, "state")
	if p.opts.StateDir != "" {
		p.state = p.opts.StateDir
	}
	p.vars = make(map[string]string)
	p.log = new(recentLog)
	p.stage = newStage(start(), p.seed)
	p.stage.watch.killAt = p.killAt
	p.stage.make = p.newApp
	p.model = newRecorder()
	defer func() {
		err = errors.Join(err, p.close())
	}()
	if err := p.place(ctx); err != nil {
		return played{}, err
	}
	if err := p.open(); err != nil {
		return played{}, err
	}
	p.transcript = newTranscript(p)
	p.stage.onLife = p.transcript.note
	err = p.lines(ctx)
	result.passes, result.killed = p.stage.watch.count()
	result.virtual = p.stage.clock.Now().Sub(start())
	result.unpassed = p.unpassed
	return result, err
}

// place decides where the play keeps its store.
func (p *play) place(ctx context.Context) (err error) {
	if p.opts.places == nil {
		path := filepath.Join(p.state, "skein.db")
		p.storeURL = "sqlite:" + path
		if p.opts.template == nil || p.opts.StateDir != "" {
			return nil
		}
		return p.opts.template.Copy(path)
	}
	if p.scratch, err = p.opts.places.Take(ctx); err == nil {
		p.storeURL = p.scratch.URL
	}
	return err
}

// open starts the test servers, lays out the files and reads the
// configuration.
func (p *play) open() error {
	for _, name := range p.channelNames() {
		if err := p.openChannel(name); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	if err := p.layOut(); err != nil {
		return err
	}
	for _, person := range p.script.People() {
		if person.OwnerFrom {
			p.addOwner(person.Name)
		}
	}
	cfg, err := p.loadConfig(configFile)
	if err != nil {
		return badScriptError{err}
	}
	p.cfg = cfg
	for name, provider := range cfg.Models.Providers {
		if provider.Type != config.ProviderScripted || provider.File == "" {
			continue
		}
		src, err := os.ReadFile(provider.File)
		if err == nil {
			_, err = app.ParseScript(filepath.Base(provider.File), src)
		}
		if err != nil {
			return badScriptError{fmt.Errorf("the scripted model %q: %w", name, err)}
		}
	}
	return nil
}

// channelNames returns the channels of the script, the console if it names
// none.
func (p *play) channelNames() []string {
	if names := p.script.Channels(); len(names) > 0 {
		return names
	}
	return []string{"console"}
}

func (p *play) openChannel(name string) error {
	all := p.opts.channels()
	i := slices.IndexFunc(all, func(c Channel) bool { return c.Entry.Name == name })
	if i < 0 {
		return badScriptError{fmt.Errorf("the channel %q is not in this build", name)}
	}
	server, err := all[i].Server(testserver.Options{Clock: p.stage.clock, Work: p.stage.work})
	if err != nil {
		return err
	}
	ch := &channel{name: name, entry: all[i].Entry, server: server, reader: testserver.NewReader(server)}
	ch.idempotent = idempotent(ch, p.stage)
	p.channels = append(p.channels, ch)
	p.stage.servers = append(p.stage.servers, server)
	return nil
}

func (p *play) close() error {
	var errs []error
	if p.stage.up() {
		errs = append(errs, p.stage.kill())
	}
	for _, ch := range p.channels {
		errs = append(errs, ch.server.Close())
	}
	if p.scratch != nil {
		errs = append(errs, p.opts.places.Give(context.Background(), p.scratch))
	}
	return errors.Join(errs...)
}

// newApp makes the runtime of one life.
func (p *play) newApp(w *world.World) (App, error) {
	var entries []channels.Entry
	for _, ch := range p.channels {
		entries = append(entries, ch.entry)
	}
	keep := store.Options{Scratch: p.opts.StateDir == ""}
	if p.scratch != nil {
		keep.Conns = p.scratch.Conns
	}
	return p.opts.newApp(app.Options{
		Store: keep, Config: p.cfg, ConfigOptions: p.configOptions(), Channels: channels.New(entries...), World: w,
		Log: slog.New(p.log), Scripted: p.model.options(p.rulesOf),
	})
}

// rulesOf returns the file that holds the rules of a scripted provider.
func (p *play) rulesOf(provider string) string { return p.cfg.Models.Providers[provider].File }

// lines plays all lines.
func (p *play) lines(ctx context.Context) error {
	if err := p.stage.start(); err != nil {
		return p.failure(script.Line{}, err)
	}
	for i, line := range p.script.Lines {
		p.current = i
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := p.stage.settle()
		if err == nil {
			p.transcript.look()
			err = p.do(ctx, line.Do)
		}
		p.transcript.look()
		if err != nil {
			return p.failure(line, err)
		}
	}
	if err := p.stage.settle(); err != nil {
		return p.failure(script.Line{}, err)
	}
	p.transcript.look()
	if point := p.stage.watch.pending(); point != "" {
		p.unpassed = append(p.unpassed, point)
	}
	return nil
}

// do plays one line.
func (p *play) do(ctx context.Context, do script.Statement) error {
	switch do := do.(type) {
	case script.Say, script.Edit, script.Delete, script.React, script.Press, script.SendFile, script.OpenTopic:
		return p.people(ctx, do)
	case script.Next, script.Some, script.Rest, script.Nothing, script.Count, script.Threads:
		return p.expect(ctx, do)
	case script.Advance:
		return p.stage.advance(do.For)
	case script.Idle:
		return p.stage.idle()
	case script.Kill, script.Start, script.Restart, script.Crash:
		return p.life(do)
	case script.Config:
		return p.config(do)
	case script.SetPlace, script.Thread, script.Migrate, script.Kick, script.Permit:
		return p.moderate(ctx, do)
	case script.Sent:
		return p.sent(do)
	case script.Raw, script.Fault, script.Redeliver:
		return p.trouble(do)
	case script.Command, script.Output, script.Exit:
		return p.command(do)
	case script.ModelSaw, script.ModelCalls:
		return p.askModel(do)
	case script.NoRaceKill:
		return nil
	}
	return fmt.Errorf("%T cannot be played", do)
}
