package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
)

// env is what a command needs of its surroundings.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookup         config.Env
	// dir is the folder that relative paths of arguments start from, "" for
	// the process's own.
	dir   string
	clock core.Clock
	zone  *time.Location // of the times in tables
	began time.Time      // when the program began

	// gateway is the API of a gateway in this process, nil where there is
	// none: then the socket is tried.
	gateway http.Handler
	// config stands for the configuration file, nil to look for one. With it
	// the command runs inside a conversation script: whatever would start a
	// gateway of its own is refused.
	config *config.Config

	configFlag string // --config
}

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// execute runs one command line and returns its exit code.
func execute(e *env, args []string) int {
	root := newRoot(e)
	root.SetArgs(args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return exitOK
	}
	failed := new(failure)
	switch {
	case errors.Is(err, errReported):
		return exitFailed
	case errors.Is(err, errBadScript):
		return exitUsage
	case errors.As(err, &failed):
		fmt.Fprintln(e.stderr, "skein:", oneLine(failed.err))
		return exitFailed
	}
	fmt.Fprintf(e.stderr, "skein: %s (see `%s --help`)\n", oneLine(err), commandOf(root, args))
	return exitUsage
}

// failure is an error of a command that was understood; every other error is a
// mistake in the command line.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// errReported ends a command that has said itself what failed.
var errReported = errors.New("reported")

// usageError is a mistake in the command line that cobra cannot see.
type usageError struct{ text string }

func (u usageError) Error() string { return u.text }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// oneLine writes an error in one line; the problems of a configuration keep
// theirs, they are a list.
func oneLine(err error) string {
	var invalid config.InvalidError
	if errors.As(err, &invalid) {
		return err.Error()
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// commandOf returns the command that arguments name, as it is written.
func commandOf(root *cobra.Command, args []string) string {
	if cmd, _, err := root.Find(args); err == nil {
		return cmd.CommandPath()
	}
	return root.CommandPath()
}

// action is the body of a command.
type action func(ctx context.Context, args []string) error

// does makes f the body of a command whose errors are failures, not mistakes
// in the command line.
func does(f action) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := f(cmd.Context(), args)
		var usage usageError
		var coded *core.Error
		if errors.As(err, &coded) && slices.Contains([]string{"bad_request", "bad_person"}, coded.Code) {
			return err // what was asked for is a mistake in the command line, whoever finds it
		}
		if err == nil || errors.As(err, &usage) || errors.Is(err, errBadScript) {
			return err
		}
		return &failure{err}
	}
}

// newRoot builds the commands.
func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "skein",
		Short: "Agents in chat channels, with sub-agents in threads",
		Long: `Skein runs agents that people talk to in chat channels. Agents start
sub-agents that live in threads of the conversation; nothing is lost when the
process ends, however it ends.

Try it:  skein demo`,
		SilenceUsage: true, SilenceErrors: true,
		Args:              cobra.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.PersistentFlags().StringVar(&e.configFlag, "config", "", "configuration file (default: SKEIN_CONFIG, ./skein.json5, ~/.skein/skein.json5)")
	root.AddGroup(
		&cobra.Group{ID: "run", Title: "Run and talk:"},
		&cobra.Group{ID: "look", Title: "Look at a gateway and settle things:"},
		&cobra.Group{ID: "make", Title: "Configure and test:"},
	)
	root.SetHelpCommandGroupID("make")
	root.SetCompletionCommandGroupID("make")
	group(root, "run", runCommand(e), demoCommand(e), chatCommand(e), sendCommand(e))
	group(root, "look", sessionsCommand(e), tasksCommand(e), bindingsCommand(e), outboxCommand(e), channelsCommand(e), usageCommand(e), logsCommand(e), doctorCommand(e), dataCommand(e))
	group(root, "make", initCommand(e), configCommand(e), routeCommand(e), testCommand(e), versionCommand(e))
	e.completions(root)
	return root
}

func group(root *cobra.Command, id string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// path makes a path of an argument independent of the process's folder.
func (e *env) path(name string) string {
	if e.dir == "" || name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.dir, name)
}

// isScript tells that the command runs inside a conversation script.
func (e *env) isScript() bool { return e.config != nil }

// refuseInScript refuses a command that would run a gateway or play scripts.
func (e *env) refuseInScript(name string) error {
	if e.isScript() {
		return core.Errorf("not_in_script", "`skein %s` cannot run inside a conversation script", name).
			WithRemedy("the script is the gateway: write to it with `NAME @ PLACE: text`")
	}
	return nil
}
