// Command pgserver runs a command with a PostgreSQL server for its tests:
//
//	go run ./internal/pgserver go test ./core/...
//
// It starts a server from the installed packages, names it to the command in
// SKEIN_TEST_POSTGRES, and stops it afterwards. Its exit code is the command's.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/skein-bot/skein/core/store/pgtest"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var settings pgtest.Settings
	if len(args) > 0 && args[0] == "-durable" {
		settings.Durable, args = true, args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: pgserver [-durable] COMMAND [ARGUMENT...]")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := pgtest.Start(ctx, settings)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgserver:", err)
		return 1
	}
	defer s.Stop()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), pgtest.Env+"="+s.URL("postgres"))
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, "pgserver:", err)
		return 1
	}
	return 0
}
