package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
)

// noReadyFD stands for no descriptor.
const noReadyFD = -1

func runCommand(e *env) *cobra.Command {
	readyFD := noReadyFD
	cmd := &cobra.Command{
		Use: "run", Short: "Run the gateway: channels, agents, store", Args: noProject,
		Long: `Run the gateway until it is told to stop. It logs one line "ready" with
elapsed_ms, the time since the program began, once the store is open and every
enabled channel has begun its first attempt to connect.

The log goes to the standard error and into skein.log in the state folder, which
"skein logs" prints.

SIGINT or SIGTERM stops it: it takes no new work, lets turns finish for
gateway.shutdownGraceSeconds, and exits 0; what did not finish goes on at the next
start. A second signal stops it at once.

When a file of the configuration changes, and on SIGHUP, it is read again: what
can be applied is applied at once, and the plan is logged. A configuration that
is not valid changes nothing.`,
		RunE: does(func(ctx context.Context, _ []string) error {
			if err := e.refuseInScript("run"); err != nil {
				return err
			}
			return e.run(ctx, readyFD)
		}),
	}
	cmd.Flags().IntVar(&readyFD, "ready-fd", noReadyFD, "close this file descriptor when ready")
	return cmd
}

// noProject refuses an argument with the reason.
func noProject(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("running a project (%q) is not in this build; name a configuration with --config", args[0])
	}
	return nil
}

func (e *env) run(ctx context.Context, readyFD int) error {
	name, err := e.find()
	if err != nil {
		return err
	}
	cfg, warnings, err := e.loadFully(name)
	if err != nil {
		return err
	}
	log, done := e.gatewayLog(cfg)
	defer done()
	logWarnings(log.Logger, warnings)
	return e.serveUntilStopped(ctx, cfg, log, e.reloader(name, log.Logger, warnings), readyFD)
}

// serveUntilStopped runs a gateway until a signal ends it.
func (e *env) serveUntilStopped(
	ctx context.Context, cfg *config.Config, log logger, load func() (*config.Config, error), readyFD int,
) error {
	running, atOnce, stop := signals(ctx)
	defer stop()
	g, err := e.openGateway(gatewayOptions{cfg: cfg, log: log, load: load})
	if err != nil {
		return err
	}
	if err := g.start(running); err != nil {
		if running.Err() != nil { // told to stop before it was ready
			err = nil
		}
		return errors.Join(err, g.stop(atOnce))
	}
	if readyFD >= 0 {
		if err := closeDescriptor(readyFD); err != nil {
			log.Warn("the descriptor of --ready-fd cannot be closed", "fd", readyFD, "error", err)
		}
	}
	<-running.Done()
	log.Info("stopping")
	err = g.stop(atOnce)
	log.Info("stopped")
	return err
}

// reloader reads the configuration file again. Warnings that it gave before are
// not repeated.
func (e *env) reloader(name string, log *slog.Logger, known config.Warnings) func() (*config.Config, error) {
	return func() (*config.Config, error) {
		cfg, warnings, err := e.loadFully(name)
		if err == nil {
			logWarnings(log, slices.DeleteFunc(slices.Clone(warnings), func(w config.Problem) bool {
				return slices.ContainsFunc(known, func(k config.Problem) bool { return k.Path == w.Path && k.Message == w.Message })
			}))
			known = warnings
		}
		return cfg, err
	}
}

func logWarnings(log *slog.Logger, warnings config.Warnings) {
	for _, w := range warnings {
		log.Warn("configuration: " + w.String())
	}
}

// errNoConsole says that there is nothing to chat with.
func errNoConsole(cfg *config.Config) error {
	return core.Errorf("console_off", "%s has no console channel", cfg.Path()).
		WithRemedy("add channels: { console: {} } to it")
}
