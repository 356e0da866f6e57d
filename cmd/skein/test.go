package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/console/consoletest"
	"github.com/skein-bot/skein/cmd/skein/demo"
	"github.com/skein-bot/skein/convtest"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/world"
)

func testCommand(e *env) *cobra.Command {
	o := convtest.Options{}
	points := false
	cmd := &cobra.Command{
		Use: "test FILE|DIR...", Short: "Play conversation scripts in virtual time",
		Long: `Play conversation scripts (*.txtar) in virtual time, in this process, on the real
runtime, with the channels' test servers and the scripted model. docs/testing.md
describes them. Exits 0 if every script passed, 1 if one failed, 2 if one is no
script.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !points {
				return usagef("name the scripts, or folders of them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if points {
				for _, name := range world.Points() {
					fmt.Fprintln(e.stdout, name)
				}
				return nil
			}
			if err := e.refuseInScript("test"); err != nil {
				return &failure{err}
			}
			for _, arg := range args {
				o.Paths = append(o.Paths, e.path(arg))
			}
			return e.play(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "print the conversations")
	f.BoolVar(&o.JSON, "json", false, "print JSON")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the first play (default: 1, with --race-kill a random one)")
	f.IntVar(&o.Repeat, "repeat", 1, "how often each script is played")
	f.BoolVar(&o.RaceKill, "race-kill", false, "kill and start once in each play, at a random point")
	f.IntVar(&o.Parallel, "parallel", 0, "how many scripts are played at once (default: as many as there are cores)")
	f.StringVar(&o.Store, "store", "", "a PostgreSQL database (postgres://...) to play in, in schemas that are dropped at the end (default: SQLite)")
	f.BoolVar(&points, "list-crash-points", false, "print the names of the crash points")
	return cmd
}

// play plays scripts on this program's parts.
func (e *env) play(ctx context.Context, o convtest.Options) error {
	o.Out = e.stdout
	o.Channels = []convtest.Channel{{Entry: console.Entry(nil), Server: consoletest.Start}}
	o.Built = e.configOptions().Built
	o.NewApp = func(ao app.Options) (convtest.App, error) {
		ao.Split, ao.Render, ao.Literal = splitText, renderText, literalText
		return app.New(ao)
	}
	o.RunCLI = runInScript
	summary, err := convtest.Run(ctx, o)
	switch {
	case errors.Is(err, convtest.ErrNoScripts), errors.Is(err, os.ErrNotExist):
		return usagef("%v", err)
	case err != nil:
		return &failure{err}
	}
	switch summary.ExitCode() {
	case exitOK:
		return nil
	case exitUsage:
		return errBadScript
	}
	return errReported
}

// errBadScript ends `skein test` where a script is none; the report says which.
var errBadScript = errors.New("bad script")

// runInScript runs a `$ skein ...` line of a script.
func runInScript(_ context.Context, args []string, c convtest.CLIEnv) (output string, exit int) {
	var out bytes.Buffer
	code := execute(&env{
		stdin: bytes.NewReader(nil), stdout: &out, stderr: &out, lookup: noVariables, dir: c.Dir, clock: c.World.Clock, zone: time.UTC,
		began: c.World.Clock.Now(), gateway: c.API, config: c.Config,
	}, args)
	return out.String(), code
}

// noVariables is the environment of a script: its result must not depend on
// the machine's.
func noVariables(string) (string, bool) { return "", false }

// scriptFolder is where a script of the demo leaves its store, inside the
// demo's folder.
const scriptFolder = "script"

// demoScript plays a script against the demo's configuration. Its store is one
// of its own, made anew: a script cannot go on with what a person left.
func (e *env) demoScript(ctx context.Context, dir string, o demoOptions) error {
	name, err := demo.Write(dir)
	if err != nil {
		return demoFolderError(dir, err)
	}
	state := filepath.Join(dir, scriptFolder)
	if err := errors.Join(os.RemoveAll(state), os.MkdirAll(state, 0o700)); err != nil {
		return demoFolderError(dir, err)
	}
	if _, err := os.Stat(e.path(o.script)); err != nil {
		return core.Errorf("script_missing", "the script %s cannot be read", o.script).WithRemedy("name a *.txtar file")
	}
	return e.play(ctx, convtest.Options{Paths: []string{e.path(o.script)}, Base: name, StateDir: state, Verbose: true})
}
