package subagent

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// Registry finds the tools that a run has called; tool.Registry implements it.
type Registry interface {
	Lookup(name string) (core.Tool, bool)
}

// closeTools records, with the end of a run, which tools keep something for it,
// and tells them after the commit. Where a crash comes first, Recover does.
func (e *Engine) closeTools(tx *store.Tx, run string) error {
	if e.Registry == nil {
		return nil
	}
	names, err := tx.ToolsOfRun(run)
	if err != nil {
		return err
	}
	var keep []store.Closing
	for _, name := range names {
		if _, ok := e.ender(name); !ok {
			continue
		}
		c := store.Closing{Run: run, Tool: name}
		if err := tx.NoteClosing(c, e.World.Now()); err != nil {
			return err
		}
		keep = append(keep, c)
	}
	if len(keep) > 0 {
		tx.OnCommit(func() { e.Go(func(ctx context.Context) { e.tellEnders(ctx, keep) }) })
	}
	return nil
}

func (e *Engine) ender(name string) (core.RunEnder, bool) {
	t, ok := e.Registry.Lookup(name)
	if !ok {
		return nil, false
	}
	x, ok := t.(core.RunEnder)
	return x, ok
}

// tellEnders tells tools of the ends of runs. What fails stays recorded.
func (e *Engine) tellEnders(ctx context.Context, list []store.Closing) {
	for _, c := range list {
		if x, ok := e.ender(c.Tool); ok {
			if err := runEnded(ctx, x, c.Run); err != nil {
				e.Log.Warn("a tool could not close what it kept for a run; it is asked again at the next start",
					"tool", c.Tool, "run", c.Run, "error", err)
				continue
			}
		}
		if err := e.DB.Write(ctx, func(tx *store.Tx) error { return tx.DropClosing(c) }); err != nil {
			return // it is told again at the next start
		}
	}
}

// runEnded calls a tool; a panic is its failure.
func runEnded(ctx context.Context, x core.RunEnder, run string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v\n%s", r, debug.Stack())
		}
	}()
	return x.RunEnded(ctx, run)
}

// recoverClosings tells the tools that a crash kept from hearing of the ends of
// runs.
func (e *Engine) recoverClosings(ctx context.Context) error {
	if e.Registry == nil {
		return nil
	}
	var left []store.Closing
	err := e.DB.Read(ctx, func(tx *store.Tx) (err error) {
		left, err = tx.Closings(e.World.Now().Add(-e.Settle), 10_000)
		return err
	})
	if err == nil && len(left) > 0 {
		e.Go(func(ctx context.Context) { e.tellEnders(ctx, left) })
	}
	return err
}
