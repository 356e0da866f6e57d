package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/cmd/skein/logs"
	"github.com/skein-bot/skein/config"
)

func logsCommand(e *env) *cobra.Command {
	lines, follow := 0, false
	cmd := &cobra.Command{
		Use: "logs [-f]", Short: "Print the log of the gateway", Args: cobra.NoArgs,
		Long: `Print the end of the log of the gateway, as logging.format has it. The log is
skein.log in the state folder, with up to three older files beside it; it is
there after the gateway has ended too. With --follow it goes on until it is
stopped, over restarts of the gateway.`,
		RunE: does(func(ctx context.Context, _ []string) error {
			if err := e.refuseInScript("logs"); err != nil {
				return err
			}
			if lines < 0 {
				return usagef("--lines is %d; 0 is all", lines)
			}
			return e.printLog(ctx, lines, follow)
		}),
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 100, "how many lines to begin with; 0 for all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print what is added, until stopped")
	return cmd
}

func (e *env) printLog(ctx context.Context, lines int, follow bool) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	r, err := logs.NewReader(cfg.StateDir())
	if err != nil {
		return err
	}
	if err := r.Tail(e.stdout, lines); err != nil || !follow {
		return errors.Join(err, r.Close())
	}
	running, _, stop := signals(ctx)
	defer stop()
	return errors.Join(r.Follow(running, e.stdout, e.clock), r.Close())
}

// gatewayLog returns the log of a gateway: on the standard error, and in the
// file that `skein logs` reads.
func (e *env) gatewayLog(cfg *config.Config) (log logger, done func()) {
	file, err := logs.Open(cfg.StateDir())
	if err != nil {
		log = newLog(cfg, e.stderr)
		log.Warn("there is no log file; `skein logs` has nothing to show", "error", err)
		return log, func() {}
	}
	return newLog(cfg, logs.Tee(e.stderr, file)), func() { _ = file.Close() }
}

// fileLog logs into the state folder alone, for a gateway that shares its
// terminal with a chat.
func fileLog(cfg *config.Config) (log logger, done func(), err error) {
	file, err := logs.Open(cfg.StateDir())
	if err != nil {
		return logger{}, nil, err
	}
	return newLog(cfg, file), func() { _ = file.Close() }, nil
}
