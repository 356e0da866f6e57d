package convtest

import (
	"context"
	"io"
	"time"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/console/consoletest"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
)

// Options say what to play and how.
type Options struct {
	// Paths are scripts and folders; a folder stands for every *.txtar file in
	// it and below.
	Paths []string
	// RaceKill plays each script Repeat times with one kill and start at a
	// random pass of a crash point, after a first time without.
	RaceKill bool
	// Repeat is how often each script is played; 0 means once.
	Repeat int
	// Seed is that of the first play; the next ones count up. 0 means 1, and a
	// random one with RaceKill.
	Seed uint64
	// Verbose prints every conversation as a transcript, JSON one JSON object
	// instead of lines for people.
	Verbose, JSON bool
	// Out is where the report goes; nil discards it.
	Out io.Writer
	// Parallel is how many scripts are played at once; 0 means GOMAXPROCS.
	Parallel int

	// Channels are those that scripts may use; nil means the console.
	Channels []Channel
	// NewApp makes the runtime; nil is app.New. The options it gets are
	// complete but for what a program adds of its own: tools, extensions, and
	// how text is split and rendered.
	NewApp func(app.Options) (App, error)
	// RunCLI runs `$ skein ...` lines in this process: args is without the
	// program's name, output is what it printed, standard output and standard
	// error joined. Nil fails such lines.
	RunCLI func(ctx context.Context, args []string, env CLIEnv) (output string, exit int)

	// Built names the optional parts of the program, as its configuration is
	// read with.
	Built config.Parts
	// Base replaces the open configuration: the path of a file over which
	// skein.json5 of a script is laid.
	Base string
	// StateDir is an empty folder in which the script leaves its store; "" is
	// one that is removed. Not with more than one play.
	StateDir string
	// Store is a PostgreSQL database in which each play has a store of its own,
	// in schemas that are dropped at the end; "" plays on SQLite.
	Store string
	// places are those schemas, and template is what the SQLite stores begin as;
	// nil runs the migrations for each.
	places   *store.Scratches
	template *store.Template
}

// start is when every script begins: a Monday morning in UTC.
func start() time.Time { return time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC) }

func (o Options) channels() []Channel {
	if o.Channels != nil {
		return o.Channels
	}
	return []Channel{{Entry: console.Entry(nil), Server: consoletest.Start}}
}

func (o Options) newApp(ao app.Options) (App, error) {
	if o.NewApp != nil {
		return o.NewApp(ao)
	}
	return app.New(ao)
}
