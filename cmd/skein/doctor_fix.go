package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

// fix mends what can be mended, and says what it did. Where the ledger cannot
// be reached the configuration is mended all the same.
func (e *env) fix(ctx context.Context, quiet bool) error {
	p := e.printer()
	if quiet {
		p.w = io.Discard // what is printed is JSON
	}
	if err := e.fixAllowances(p); err != nil {
		return err
	}
	done, err := e.maintain(ctx, true)
	switch {
	case core.ErrorCode(err) != "":
		fmt.Fprintf(p.w, "left   the ledger of tasks: %s\n", oneLine(err))
	case err != nil:
		return err
	default:
		showMaintenance(p, done, "")
	}
	fmt.Fprintln(p.w)
	return nil
}

// fixAllowances takes agents that are not configured out of the lists of agents
// that may be started. Everything else in the file stays as it is.
func (e *env) fixAllowances(p printer) error {
	if e.isScript() {
		return nil // its configuration is the script's
	}
	name, err := e.find()
	if err != nil {
		return err
	}
	unlock, err := config.Lock(name)
	if err != nil {
		return err
	}
	defer unlock() //nolint:errcheck // it ends with the process at the latest
	cfg, _, err := config.Load(name, e.configOptions())
	if err != nil {
		return nil // the examination says what is wrong with it
	}
	for _, a := range cfg.UnknownAllowances() {
		edit, err := config.Set(name, a.Path, a.Rest, e.configOptions())
		if err != nil {
			return fmt.Errorf("%s was left as it is: %w", a.Path, err)
		}
		if err := edit.Write(); err != nil {
			return err
		}
		fmt.Fprintf(p.w, "%s  %s: took out %s (in %s)\n", p.paint(moodDim, "done "), a.Path, strings.Join(a.Unknown, ", "), edit.File)
	}
	return nil
}

// showFixes says what --fix would do, prunings apart.
func (e *env) showFixes(ctx context.Context) {
	var would []app.ActionView
	if plan, err := e.maintain(ctx, false); err == nil { // else the examination has said why
		for _, a := range plan.Actions {
			if !a.Prunes() {
				would = append(would, a)
			}
		}
	}
	if cfg, err := e.load(); err == nil {
		for _, a := range cfg.UnknownAllowances() {
			would = append(would, app.ActionView{Subject: a.Path, Text: "take out " + strings.Join(a.Unknown, ", ")})
		}
	}
	if len(would) == 0 {
		return
	}
	p := e.printer()
	fmt.Fprintln(p.w, "\n`skein doctor --fix` would:")
	for _, a := range would {
		fmt.Fprintf(p.w, "  %s: %s\n", a.Subject, a.Text)
	}
}
